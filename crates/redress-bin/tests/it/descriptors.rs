//! A server that may open few files, and strangers who open as many connections as they may.

use std::{
    collections::HashSet,
    net::SocketAddr,
    process::{Command, Stdio},
};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::{
    process::Place,
    raw::{answer, calls, connect, open},
    serve::Served,
};

/// A server that may open this many files.
fn serve(place: &Place, files: u32) -> (Served, SocketAddr) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -n {files} && exec \"$@\""), "sh", env!("CARGO_BIN_EXE_redress")]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--json"]).current_dir(place.path());
    let served = Served::start(command.env_clear().stdin(Stdio::null()));
    let address = served.url().strip_prefix("http://").unwrap().parse().unwrap();
    (served, address)
}

/// A call for a file on every face.
fn requests() -> Vec<(String, String)> {
    calls("files.read", &json!({"path": "notes.md"}), 20)
}

#[tokio::test]
async fn strangers_who_fill_a_server_with_idle_connections_keep_nobody_else_out_on_any_face() {
    let place = Place::new();
    let (served, address) = serve(&place, 128);
    let held = &served.screen()["connections"];
    assert_eq!((&held["at_most"], &held["per_address"], &held["descriptors"]), (&json!(64), &json!(32), &json!(128)));
    // Both of them together have every place there is, and none of them more than its share.
    let mut strangers = Vec::new();
    for from in ["127.0.0.2", "127.0.0.3"] {
        for _ in 0..100 {
            strangers.push(connect(from, address).await);
        }
    }
    for (path, body) in requests() {
        let mut stream = open("127.0.0.1", address, &path, "").await;
        let answer = answer(&mut stream, &path, "", &body).await;
        assert!(answer.contains("Say how it fails.") && !answer.contains("INTERNAL"), "{path}\n{answer}");
        assert!(path == "/ws" || answer.starts_with("HTTP/1.1 200"), "{path}\n{answer}");
    }
    drop(strangers);
    let log = served.stop();
    assert!(!log.contains("Too many open files") && !log.contains("os error 24"), "{log}");
}

#[tokio::test]
async fn a_call_that_finds_no_descriptor_left_is_told_to_come_again_on_every_face() {
    let place = Place::new();
    let (served, address) = serve(&place, 128);
    let pid = Pid::from_raw(served.id().cast_signed()).unwrap();
    let mut open_connections = Vec::new();
    for (path, body) in requests() {
        let mut stream = open("127.0.0.1", address, &path, "").await;
        let answer = answer(&mut stream, &path, "", &body).await;
        assert!(answer.contains("Say how it fails."), "{path}\n{answer}");
        open_connections.push((path, body, stream));
    }
    let taken: HashSet<u64> = std::fs::read_dir(format!("/proc/{}/fd", served.id()))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .collect();
    let next = (0..).find(|number| !taken.contains(number)).unwrap();
    let limit =
        |files| prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(files), maximum: Some(128) }).unwrap();
    limit(next);
    for (path, body, stream) in &mut open_connections {
        let answer = answer(stream, path, "", body).await;
        assert!(answer.contains("OVERLOADED") && !answer.contains("INTERNAL"), "{path}\n{answer}");
        assert!(!answer.contains("os error") && !answer.contains("open files"), "{path}\n{answer}");
        if path == "/ops/files/read" {
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let problem: Value = serde_json::from_str(body).unwrap();
            assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 1"), "{head}");
            assert_eq!((&problem["retryable"], &problem["retry_after_ms"]), (&json!(true), &json!(1000)), "{problem}");
        }
    }
    limit(128);
    for (path, body, stream) in &mut open_connections {
        let answer = answer(stream, path, "", body).await;
        assert!(answer.contains("Say how it fails."), "{path}\n{answer}");
    }
    served.stop();
}

#[test]
fn the_soft_limit_is_raised_and_what_it_leaves_is_told_by_the_doctor_and_the_screen() {
    let place = Place::new();
    let run = |script: &str, words: &[&str]| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{script} && exec \"$@\""), "sh", env!("CARGO_BIN_EXE_redress")]).args(words);
        let output = command.current_dir(place.path()).env_clear().stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let raised = run("ulimit -Sn 200 && ulimit -Hn 1000", &["doctor"]);
    assert!(
        raised.contains("900 at most, 450 from one address: 1000 files may be open, 100 are kept for work"),
        "{raised}"
    );
    assert!(raised.contains("next:     ulimit -n 18205"), "{raised}");
    let (served, _) = serve(&place, 1000);
    assert_eq!(served.screen()["connections"]["at_most"], 900);
    served.stop();
}
