//! `audit`: what was called, read beside the server that writes it.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{process::Place, serve::Served, token::until};

fn place() -> Place {
    Place::new().with("redress.toml", "[serve]\nlisten = \"127.0.0.1:0\"\n")
}

fn records(place: &Place, words: &[&str]) -> Vec<Value> {
    let ran = place.run(&[&["audit", "--json"], words].concat());
    assert_eq!(ran.code, 0, "{}", ran.seen());
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_audit_says_who_called_what_and_how_it_ended_and_never_with_what() {
    let place = place();
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let url = served.url();
    let call = |input: &str| place.run(&["call", "files.read", input, "--json", "--server", &url]).json();
    let read = call(r#"{"path":"notes.md"}"#);
    call(r#"{"path":"canary-4711.md"}"#);
    place.run(&["call", "files.list", "--server", &url]);
    until("three calls are kept", || records(&place, &[]).len() == 3);
    let all = records(&place, &[]);
    assert_eq!(all[0]["request_id"], read["_meta"]["request_id"]);
    assert_eq!((&all[0]["caller"], &all[0]["face"], &all[0]["code"]), (&json!("local"), &json!("http"), &json!("ok")));
    assert_eq!(records(&place, &["--code", "FILE_NOT_FOUND"]), [all[1].clone()]);
    assert_eq!(records(&place, &["--operation", "files.list"]), [all[2].clone()]);
    assert_eq!(records(&place, &["--operation", "files.*", "--limit", "2"]), all[1..]);
    assert_eq!(records(&place, &["--code", "ok", "--caller", "local", "--face", "http", "--since", "1h"]).len(), 2);
    assert_eq!(records(&place, &["--input", r#"{"path":"notes.md"}"#]), [all[0].clone()]);
    let id = all[1]["request_id"].as_str().unwrap();
    assert_eq!(records(&place, &["--request-id", id]), [all[1].clone()]);
    assert!(records(&place, &["--until", "1h"]).is_empty() && records(&place, &["--caller", "eve"]).is_empty());
    let shown = place.run(&["audit"]).out;
    assert!(shown.contains("FILE_NOT_FOUND") && shown.contains("files.list"), "{shown}");
    served.stop();
    // After the server has gone, too; and no input is anywhere in the folder.
    assert_eq!(records(&place, &[]), all);
    for entry in std::fs::read_dir(place.path().join("state")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(11).any(|part| part == b"canary-4711"));
    }
}

#[test]
fn the_audit_is_followed_while_the_server_runs() {
    let place = place();
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let url = served.url();
    let mut command = place.command(&["audit", "--follow", "--json", "--operation", "files.list"]);
    let mut follower = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        place.run(&["call", "files.read", r#"{"path":"notes.md"}"#, "--server", &url]);
        let answer = place.run(&["call", "files.list", "--json", "--server", &url]).json();
        let record: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(record["request_id"], answer["_meta"]["request_id"]);
    }
    kill_process(Pid::from_child(&follower), Signal::INT).unwrap();
    assert_eq!(follower.wait().unwrap().code(), Some(0));
    served.stop();
}

#[test]
fn calls_over_stdio_are_audited_too() {
    let place = place();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "files_read", "arguments": {"path": "notes.md"},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}}});
    let mut child =
        place.command(&["mcp", "redress.toml"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{call}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let found = records(&place, &["--face", "mcp"]);
    assert_eq!(found.len(), 1, "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((&found[0]["operation"], &found[0]["caller"]), (&json!("files.read"), &json!("local")));
}

#[test]
fn an_audit_that_is_not_there_is_told() {
    let code = |place: &Place, words: &[&str]| {
        let ran = place.run(&[&["audit", "--json"], words].concat());
        (ran.code, ran.json()["code"].as_str().unwrap().to_owned())
    };
    let unreadable = (2, "AUDIT_UNREADABLE".to_owned());
    assert_eq!(code(&Place::new(), &[]), unreadable);
    assert_eq!(code(&place(), &[]), unreadable, "nothing has been served yet");
    assert_eq!(code(&Place::new().with("redress.toml", "state = \"memory\"\n"), &[]), unreadable);
    let served = place();
    Served::start(&mut served.command(&["serve", "redress.toml", "--json"])).stop();
    assert_eq!(code(&served, &["--face", "htp"]), (2, "USAGE".to_owned()));
    assert_eq!(code(&served, &["--since", "soon"]), (2, "USAGE".to_owned()));
}
