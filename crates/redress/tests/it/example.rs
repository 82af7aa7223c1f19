//! The examples run, and print what is kept here.

use std::process::Command;

/// Runs an example, as a newcomer would, and gives what it printed, with what differs from
/// run to run replaced.
fn output_of(example: &str) -> String {
    let cargo = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--package", "redress", "--example", example])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let output = cargo.expect("the cargo that runs this test runs the example");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut text = String::from_utf8(output.stdout).unwrap();
    for member in ["\"request_id\":\"", "\"elapsed_ms\":"] {
        text = masked(&text, member);
    }
    text
}

/// Replaces the value after each `member`, up to the next comma, by a dot.
fn masked(text: &str, member: &str) -> String {
    let mut parts = text.split(member);
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (_, rest) = part.split_once(',').unwrap();
        out.push_str(member);
        out.push_str("…,");
        out.push_str(rest);
    }
    out
}

#[test]
fn the_notes_example_shows_four_ways_to_end() {
    insta::assert_snapshot!(output_of("notes"));
}

#[test]
fn the_ask_example_shows_three_ways_to_be_asked() {
    insta::assert_snapshot!(output_of("ask"));
}

#[test]
fn the_notes_example_is_at_most_sixty_lines() {
    let source = include_str!("../../../../examples/notes.rs");
    assert!(source.lines().count() <= 60);
}
