//! The same, by a client in another language that shares no code with the server.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use redress_serve::ws::WebSocketLimits;

use super::service::{Server, until};

const WEBSOCKETS: &str = "websockets==17.4";

/// A Python with the client library, made once and kept beside what cargo builds.
fn python() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ws-python");
    let python = home.join("bin/python");
    let ready = home.join(format!("{WEBSOCKETS}.ready"));
    if !ready.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", WEBSOCKETS]));
        std::fs::write(&ready, "").unwrap();
    }
    python
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; this test needs Python 3"));
    let (said, warned) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{said}\n{warned}");
    said.into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_client_holds_a_hundred_streams_and_a_thousand_calls_with_aborts() {
    let server = Server::start(WebSocketLimits::default()).await;
    let url = server.url.clone();
    let said = tokio::task::spawn_blocking(move || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/ws_client.py");
        run(Command::new(python()).arg(script).arg(url))
    });
    let said = said.await.unwrap();
    assert!(
        said.contains("90 streams completed, 10 aborted, 900 calls answered, 100 aborted, 20 calls back"),
        "{said}"
    );
    until(|| server.all_dropped() && server.peers.all().is_empty()).await;
}
