//! Each command but `serve`.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    process::Stdio,
};

use serde_json::json;

use crate::process::{Place, Ran};

#[test]
fn the_help_is_kept() {
    insta::assert_snapshot!(Place::new().run(&["--help"]).seen());
    insta::assert_snapshot!("serve_help", Place::new().run(&["serve", "--help"]).seen());
    insta::assert_snapshot!("call_help", Place::new().run(&["call", "--help"]).seen());
}

#[test]
fn the_operations_are_listed_and_those_that_change_files_only_where_asked_for() {
    let place = Place::new();
    insta::assert_snapshot!(place.run(&["ops"]).seen());
    let names = |words: &[&str]| -> Vec<String> {
        let listed = place.run(words).json();
        listed.as_array().unwrap().iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(&["ops", "--json"]).contains(&"files.write".to_owned()));
    assert!(names(&["ops", "--json", "--write"]).contains(&"files.write".to_owned()));
}

#[test]
fn a_call_ends_with_0_1_or_2() {
    let place = Place::new();
    let read = place.run(&["call", "files.read", r#"{"path":"notes.md"}"#, "--json"]);
    assert_eq!((read.code, &read.json()["ok"]), (0, &json!(true)), "{}", read.err);
    let missing = place.run(&["call", "files.read", r#"{"path":"note.md"}"#, "--json"]);
    assert_eq!((missing.code, missing.json()["code"].as_str()), (1, Some("FILE_NOT_FOUND")));
    let broken = place.run(&["call", "files.read", "{path", "--json"]);
    assert_eq!((broken.code, broken.json()["code"].as_str()), (2, Some("INPUT_NOT_JSON")));
}

#[test]
fn an_input_comes_from_the_line_a_file_or_a_pipe() {
    let place = Place::new().with("input.json", r#"{"path":"notes.md"}"#);
    let typed = place.run(&["call", "files.read", r#"{"path":"notes.md"}"#]);
    assert_eq!(typed.code, 0, "{}", typed.err);
    assert_eq!(place.run(&["call", "files.read", "@input.json"]).out, typed.out);
    let mut piped = place.command(&["call", "files.read", "-"]);
    let mut child = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"path":"notes.md"}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), typed.out);
    insta::assert_snapshot!(place.run(&["call", "files.read", "@nowhere.json"]).seen());
}

#[test]
fn the_next_line_of_a_failure_can_be_pasted() {
    let place = Place::new();
    let missing = place.run(&["call", "files.read", r#"{"path":"note.md"}"#]);
    let line = missing.err.lines().find_map(|line| line.trim().strip_prefix("next:")).unwrap().trim();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_redress")).parent().unwrap();
    let mut shell = std::process::Command::new("/bin/sh");
    let pasted = Ran::of(shell.args(["-c", line]).current_dir(place.path()).env_clear().env("PATH", binary));
    assert_eq!(pasted.code, 0, "{line}\n{}", pasted.err);
}

#[test]
fn consent_comes_with_the_call() {
    let place = Place::new();
    let input = r#"{"path":"notes.md"}"#;
    let refused = place.run(&["call", "files.remove", input, "--write"]);
    assert!(refused.err.starts_with("CONSENT_REQUIRED"), "{}", refused.err);
    assert!(refused.err.contains("only a person can, who makes the call with `--consent`"), "{}", refused.err);
    assert!(!refused.err.contains("next:"), "no line is handed to an agent that agrees for its user: {}", refused.err);
    let agreed = place.run(&["call", "files.remove", input, "--write", "--consent"]);
    assert_eq!(agreed.code, 0, "{}", agreed.err);
    assert!(!place.path().join("notes.md").exists());
}

#[test]
fn a_page_is_shown_for_a_code_of_the_engine_of_an_operation_of_the_command_and_for_a_rule() {
    let place = Place::new();
    for (name, first) in [
        ("TIMEOUT", "TIMEOUT\n"),
        ("file_not_found", "FILE_NOT_FOUND\n"),
        ("PORT_IN_USE", "PORT_IN_USE\n"),
        ("no-recovery", "no-recovery\n"),
    ] {
        let shown = place.run(&["explain", name]);
        assert!(shown.code == 0 && shown.out.starts_with(first), "{}", shown.seen());
        let json = place.run(&["explain", name, "--json"]).json();
        let known = json.get("code").or(json.get("rule")).unwrap();
        assert_eq!(format!("{}\n", known.as_str().unwrap()), first);
    }
    insta::assert_snapshot!(place.run(&["explain", "TIMOUT"]).seen());
}

#[test]
fn what_was_mistyped_is_told_by_our_own_rules() {
    let place = Place::new();
    insta::assert_snapshot!(place.run(&["serve", "--lisen", "127.0.0.1:0"]).seen());
    insta::assert_snapshot!("usage_for_programs", place.run(&["cal", "--json"]).seen());
    insta::assert_snapshot!("no_command", place.run(&[]).seen());
}

#[test]
fn a_server_that_is_not_there_is_told_with_what_to_do() {
    let place = Place::new();
    // The port is free: it was given back a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let asked = place.run(&["ops", "--server", &url]);
    assert_eq!(asked.code, 2);
    insta::assert_snapshot!(asked.seen().replace(&free.to_string(), "127.0.0.1:1"));
    for url in ["127.0.0.1:7717", "ftp://here"] {
        assert_eq!(place.run(&["ops", "--json", "--server", url]).json()["code"], "SERVER_UNREACHABLE");
    }
}

#[test]
fn a_call_is_not_made_where_a_server_would_lead_it() {
    let (first, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    other.set_nonblocking(true).unwrap();
    let url = format!("http://{}", first.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{}/call\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        other.local_addr().unwrap()
    );
    let leading = std::thread::spawn(move || {
        let (mut stream, _) = first.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let called = Place::new().run(&["call", "files.list", "--json", "--server", &url]);
    leading.join().unwrap();
    assert_eq!((called.code, &called.json()["code"]), (2, &json!("SERVER_ANSWER_UNREADABLE")));
    assert!(other.accept().is_err(), "nobody was led there");
}

#[test]
fn a_folder_that_is_not_there_is_told_with_what_to_do() {
    insta::assert_snapshot!(Place::new().run(&["ops", "--root", "nowhere"]).seen());
}

#[test]
fn the_doctor_looks_at_everything_and_says_what_to_do() {
    let place = Place::new().with("redress.toml", "[serve]\nwriet = true\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = place.run(&["doctor", "--json", "--write", "--listen", &address]);
    let checks = ran.json();
    let status = |name: &str| {
        let found = checks.as_array().unwrap().iter().find(|check| check["check"] == name);
        found.map(|check| check["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(status("version").as_deref(), Some("ok"));
    assert_eq!(status("folder").as_deref(), Some("ok"));
    assert_eq!(status("port").as_deref(), Some("warn"));
    assert_eq!(status("config").as_deref(), Some("fail"));
    assert_eq!(ran.code, 1);
    assert!(checks.as_array().unwrap().iter().all(|check| check["status"] == "ok" || check["next"].is_string()));
    let nowhere = place.run(&["doctor", "--root", "nowhere"]);
    assert!(nowhere.code == 1 && nowhere.out.contains("fail  folder"), "{}", nowhere.seen());
}

#[test]
fn completions_and_manual_pages_are_made() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let made = place.run(&["completions", shell]);
        assert!(made.code == 0 && made.out.contains("redress") && made.out.contains("explain"), "{shell}");
    }
    assert_eq!(place.run(&["man", "man"]).code, 0);
    let page = std::fs::read_to_string(place.path().join("man/redress-call.1")).unwrap();
    assert!(page.contains("idempotency"), "{page}");
    assert_eq!(place.run(&["man", "notes.md", "--json"]).json()["code"], "FILE_UNWRITABLE");
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let place = Place::new();
    let colored = |words: &[&str]| place.run(words).out.contains('\u{1b}');
    assert!(!colored(&["ops"]) && colored(&["ops", "--color", "always"]) && !colored(&["ops", "--color=never"]));
    assert!(!colored(&["ops", "--json", "--color", "always"]));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_trouble() {
    let place = Place::new();
    let mut child = place.command(&["explain", "TIMEOUT"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_deadline_that_no_clock_can_show_is_as_good_as_none() {
    let place = Place::new();
    for deadline in ["584542046090y", "18446744073709551615s"] {
        let ran = place.run(&["call", "files.list", "--deadline", deadline, "--json"]);
        assert_eq!(ran.code, 0, "{deadline}: {}", ran.seen());
    }
}
