//! The access log of a server: whole at its end, and moved away while it runs.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    process::Command,
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{process::Place, serve::Served};

/// How many calls one message makes.
const CALLS: usize = 50;

fn place() -> Place {
    Place::new().with(
        "redress.toml",
        "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\n[telemetry]\naccess_log = \"access.log\"\n",
    )
}

/// Makes calls in one message.
fn call(served: &Served) {
    let calls = vec![json!({"operation": "files.list"}); CALLS];
    let client = reqwest::blocking::Client::new();
    let answer = client.post(format!("{}/batch", served.url())).header("content-type", "application/json");
    let answer = answer.body(json!(calls).to_string()).send().unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().unwrap());
}

/// How many lines of calls are in a file.
fn calls(lines: impl Iterator<Item = String>) -> usize {
    let lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}")));
    lines.filter(|line| line["operation"] == "files.list").count()
}

/// A pipe holds less than these lines, and nobody reads it before the end: they still wait when the server is told to
/// stop.
#[test]
fn a_server_that_stops_has_written_a_line_for_each_call() {
    let place = place();
    let pipe = place.path().join("access.log");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Both ends of a pipe wait for each other to be opened.
    let opening = thread::spawn(move || File::open(pipe).unwrap());
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let reader = opening.join().unwrap();
    for _ in 0..20 {
        call(&served);
    }
    let mut log = served.log();
    served.signal(Signal::TERM);
    log.line_with("stopping");
    assert_eq!(calls(BufReader::new(reader).lines().map_while(Result::ok)), 20 * CALLS);
    log.line_with("stopped");
    served.ends_well();
}

#[test]
fn a_log_that_was_moved_away_is_begun_anew_at_a_hang_up() {
    let place = place();
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let mut log = served.log();
    let (file, kept) = (place.path().join("access.log"), place.path().join("access.log.1"));
    call(&served);
    fs::rename(&file, &kept).unwrap();
    served.signal(Signal::HUP);
    log.line_with("read again and holds");
    call(&served);
    served.stop();
    let lines = |path| calls(fs::read_to_string(path).unwrap().lines().map(str::to_owned));
    assert_eq!((lines(&kept), lines(&file)), (CALLS, CALLS));
}
