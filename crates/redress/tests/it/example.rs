//! The examples run, and print what is kept here.

use std::process::Command;

/// Runs an example, as a newcomer would, and gives what it printed, with what differs from
/// run to run replaced.
fn output_of(example: &str) -> String {
    let (text, ended_well) = run(example, &[]);
    assert!(ended_well, "{text}");
    text
}

/// Runs an example with these words, and gives what it printed and whether it ended well. All
/// are built with the same features, and so only once.
fn run(example: &str, words: &[&str]) -> (String, bool) {
    let cargo = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--package", "redress", "--features", "cli", "--example", example, "--"])
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let output = cargo.expect("the cargo that runs this test runs the example");
    let mut text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    for member in ["\"request_id\":\"", "\"elapsed_ms\":"] {
        text = masked(&text, member);
    }
    (text, output.status.success())
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
fn a_binary_of_ones_own_has_every_command() {
    let (read, ended_well) = run("serve", &["call", "clock.convert", r#"{"hour":15}"#]);
    assert!(ended_well, "{read}");
    assert_eq!(read, "\"3 in the afternoon\"\n");
    let (listed, _) = run("serve", &["ops"]);
    let (refused, ended_well) = run("serve", &["call", "clock.convert", r#"{"hour":27}"#, "--json"]);
    assert!(!ended_well);
    insta::assert_snapshot!(format!("{listed}\n{refused}"));
}

#[test]
fn the_faces_are_mounted_in_an_app_of_ones_own() {
    insta::assert_snapshot!(output_of("mount"));
}

#[test]
fn a_stream_ends_well_badly_and_when_nobody_reads_it() {
    insta::assert_snapshot!(output_of("streams"));
}

#[test]
fn an_operation_calls_another() {
    insta::assert_snapshot!(output_of("compose"));
}

#[test]
fn an_extension_comes_and_goes() {
    insta::assert_snapshot!(output_of("extension"));
}

#[test]
fn a_client_on_a_web_socket_calls_and_is_called() {
    insta::assert_snapshot!(output_of("web_socket"));
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
