//! The examples run, and print what is kept here.

use std::process::{Command, Output};

/// Runs an example, as a newcomer would, and gives what it printed, with what differs from
/// run to run replaced.
pub(crate) fn output_of(example: &str) -> String {
    let (text, ended_well) = run(example, &[]);
    assert!(ended_well, "{text}");
    text
}

/// What runs an example with these words: the program that `cargo test` has built beside this one, with the same features.
pub(crate) fn command(example: &str, words: &[&str]) -> Command {
    let this = std::env::current_exe().unwrap();
    let built = format!("{example}{}", std::env::consts::EXE_SUFFIX);
    let built = this.ancestors().nth(2).unwrap().join("examples").join(built);
    assert!(built.exists(), "`cargo build -p redress --all-features --examples` builds {}", built.display());
    let mut command = Command::new(built);
    command.args(words).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Runs an example with these words.
fn ran(example: &str, words: &[&str]) -> Output {
    command(example, words).output().expect("a program that is built runs")
}

/// Runs an example with these words, and gives what it printed and whether it ended well.
fn run(example: &str, words: &[&str]) -> (String, bool) {
    let output = ran(example, words);
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
fn a_payment_that_is_cut_off_is_made_once() {
    insta::assert_snapshot!(output_of("retries"), @r#"
    order 1: the answer is lost
      TIMEOUT: the deadline passed, retry after_verify
      payments.get {"order":1}: done where /paid is true
      paid once
    order 2: the payment is lost
      TIMEOUT: the deadline passed, retry after_verify
      payments.get {"order":2}: done where /paid is true
      it was not done, so it is called again
      paid once
    order 3: the bank is unsure
      BANK_UNSURE: the bank does not know of order 3, retry after_verify
      payments.get {"order":3}: done where /paid is true
      paid once
    "#);
}

/// Runs the orders example with the words of a command, and gives its exit code and what it printed.
fn orders(words: &[&str]) -> (i32, serde_json::Value) {
    let output = ran("orders", &[words, &["--json"]].concat());
    let printed = serde_json::from_slice(&output.stdout);
    let printed = printed.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap_or(-1), printed)
}

#[test]
fn the_orders_example_has_one_operation_of_each_sort_and_every_command() {
    let (code, listed) = orders(&["ops"]);
    let shape_of = |name: &str| {
        let operations = listed.as_array().unwrap();
        operations.iter().find(|one| one["name"] == name).map(|one| one["shape"].clone()).unwrap_or_default()
    };
    assert_eq!(code, 0);
    assert_eq!(shape_of("orders.find"), "query");
    assert_eq!(shape_of("orders.place"), "mutation");
    assert_eq!(shape_of("orders.follow"), "subscription");

    let (code, missing) = orders(&["call", "orders.get", r#"{"id":"o-9"}"#]);
    assert_eq!((code, &missing["code"]), (1, &"ORDER_NOT_FOUND".into()));
    assert_eq!(missing["next_actions"][0]["operation"], "orders.find");

    let (code, counted) = orders(&["call", "orders.place", r#"{"lines":[{"sku":"sofa","count":1}]}"#]);
    assert_eq!((code, &counted["retry"], &counted["retry_after_ms"]), (1, &"safe".into(), &1500.into()));

    let (code, asked) = orders(&["call", "orders.cancel", r#"{"id":"o-1"}"#]);
    assert_eq!((code, &asked["code"]), (1, &"CONSENT_REQUIRED".into()));
    assert_eq!((&asked["recovery"]["verb"], asked.get("next_actions")), (&"ask_user".into(), None));

    let (code, placed) = orders(&["call", "orders.place", r#"{"lines":[{"sku":"desk","count":2}]}"#]);
    assert_eq!((code, &placed["result"]["total_cents"]), (0, &39_800.into()));
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
fn callers_limits_state_and_metrics_are_fitted_in_a_program_of_ones_own() {
    insta::assert_snapshot!(output_of("fitted"));
}

#[test]
fn a_quota_is_counted_over_a_restart() {
    insta::assert_snapshot!(output_of("quota"));
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
fn everybody_sees_the_tickets_of_their_own_company() {
    insta::assert_snapshot!(output_of("tickets"));
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
