//! Ctrl-C in the middle of a call, in a process of its own.

use std::{
    env,
    io::{self, BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use redress_cli::Program;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::table::registry;

/// Set in the process that is to be interrupted.
const INTERRUPTED: &str = "REDRESS_TEST_INTERRUPTED";

/// Makes a call that never ends by itself.
fn call() {
    let words = ["notes", "call", "notes.read", r#"{"path":"slow.md"}"#, "--json", "--log-level", "off"];
    let code = Program::of(registry()).run(words, &mut io::stdout(), &mut io::stderr());
    assert_eq!(code, 1);
}

#[test]
fn ctrl_c_cancels_the_call_and_shows_how_it_ended() {
    // The test runs itself once more, as the process that gets the signal.
    if env::var_os(INTERRUPTED).is_some() {
        return call();
    }
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", "cancel::ctrl_c_cancels_the_call_and_shows_how_it_ended", "--nocapture"]);
    program.env(INTERRUPTED, "yes");
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = BufReader::new(child.stderr.take().unwrap()).lines().any(|line| line.unwrap() == "slow.md is read");
    assert!(runs, "the call did not start");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut written = String::new();
    child.stdout.take().unwrap().read_to_string(&mut written).unwrap();
    assert!(child.wait().unwrap().success(), "{written}");
    let envelope = written.lines().find_map(|line| line.get(line.find('{')?..)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(envelope).unwrap()["code"], "CANCELLED", "{written}");
}
