//! The driver, run as people run it. What it finds in a server is `scripts/soak`'s to say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Output};

fn soak(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redress-soak")).arg("run").args(words).output().unwrap()
}

#[test]
fn a_scenario_that_is_not_known_is_told_with_those_that_are() {
    let told = soak(&["--only", "steady,sunny"]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(told.status.code(), Some(2));
    assert!(text.starts_with("there is no scenario `sunny`; known: steady, "), "{text}");
}

#[test]
fn the_server_and_its_driver_are_one_binary() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_redress-soak"));
    let listed = command.args(["ops", "--json"]).current_dir(&folder).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.status.success() && text.contains("soak.add") && text.contains("soak.agreed"), "{text}");
}
