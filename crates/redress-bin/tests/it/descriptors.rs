//! A server that may open few files, and strangers who open as many connections as they may.

use std::{
    collections::HashSet,
    net::SocketAddr,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::{process::Place, serve::Served};

const SOON: Duration = Duration::from_secs(30);

/// A server that may open this many files.
fn serve(place: &Place, files: u32) -> (Served, SocketAddr) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -n {files} && exec \"$@\""), "sh", env!("CARGO_BIN_EXE_redress")]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--json"]).current_dir(place.path());
    let served = Served::start(command.env_clear().stdin(Stdio::null()));
    let address = served.url().strip_prefix("http://").unwrap().parse().unwrap();
    (served, address)
}

async fn connect(from: &str, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    timeout(SOON, socket.connect(address)).await.unwrap().unwrap()
}

/// A request for a file on every face; that of a WebSocket comes after its handshake.
fn requests() -> Vec<(&'static str, String)> {
    let call = json!({"operation": "files.read", "input": {"path": "notes.md"}});
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "files.read", "params": {"path": "notes.md"}});
    let tool = json!({"name": "files_read", "arguments": {"path": "notes.md"}});
    let mcp = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool});
    vec![
        ("/ops/files/read", json!({"path": "notes.md"}).to_string()),
        ("/call", call.to_string()),
        ("/batch", json!(vec![call.clone(); 20]).to_string()),
        ("/rpc", rpc.to_string()),
        ("/mcp", mcp.to_string()),
        ("/ws", json!({"type": "call.requested", "id": "1", "payload": call}).to_string()),
    ]
}

/// A connection on which a request can be made, as its face has it.
async fn open(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = connect("127.0.0.1", address).await;
    if path == "/ws" {
        let handshake = "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        let answer = ask(&mut stream, handshake.as_bytes(), "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    }
    stream
}

/// What is answered to a request.
async fn answer(stream: &mut TcpStream, path: &str, body: &str) -> String {
    if path == "/ws" {
        // A mask of zeros leaves the text as it is.
        let mut frame = vec![0x81, 0x80 | u8::try_from(body.len()).unwrap(), 0, 0, 0, 0];
        frame.extend_from_slice(body.as_bytes());
        return ask(stream, &frame, "}}").await;
    }
    let (length, json) = (body.len(), "content-type: application/json\r\naccept: application/json, text/event-stream");
    let request =
        format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{json}\r\ncontent-length: {length}\r\n\r\n{body}");
    ask(stream, request.as_bytes(), "").await
}

/// Sends, and reads until the answer ends: with these characters, or where it says.
async fn ask(stream: &mut TcpStream, request: &[u8], end: &str) -> String {
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let read = async {
        loop {
            let text = String::from_utf8_lossy(&answer).into_owned();
            let whole = match text.split_once("\r\n\r\n") {
                Some((head, body)) if end.is_empty() => head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
                    .is_none_or(|length| body.len() >= length),
                _ => !end.is_empty() && text.ends_with(end),
            };
            if whole || stream.read_buf(&mut answer).await.unwrap() == 0 {
                return text;
            }
        }
    };
    timeout(SOON, read).await.expect("an answer comes")
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
        let mut stream = open(address, path).await;
        let answer = answer(&mut stream, path, &body).await;
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
        let mut stream = open(address, path).await;
        let answer = answer(&mut stream, path, &body).await;
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
        let answer = answer(stream, path, body).await;
        assert!(answer.contains("OVERLOADED") && !answer.contains("INTERNAL"), "{path}\n{answer}");
        assert!(!answer.contains("os error") && !answer.contains("open files"), "{path}\n{answer}");
        if *path == "/ops/files/read" {
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let problem: Value = serde_json::from_str(body).unwrap();
            assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 1"), "{head}");
            assert_eq!((&problem["retryable"], &problem["retry_after_ms"]), (&json!(true), &json!(1000)), "{problem}");
        }
    }
    limit(128);
    for (path, body, stream) in &mut open_connections {
        let answer = answer(stream, path, body).await;
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
