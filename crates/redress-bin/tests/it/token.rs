//! `token`: made once, listed without its secret, taken back; a running server keeps up.

use serde_json::{Value, json};

use crate::{
    process::{Place, Ran},
    serve::Served,
};

pub(crate) const GUARDED: &str =
    "state = \"memory\"\n[serve]\nlisten = \"127.0.0.1:0\"\nroot = \"served\"\n[access]\ntokens = \"tokens.json\"\n";

/// A place with a configuration by which callers are known, and a folder of its own that is served.
pub(crate) fn guarded() -> Place {
    let place = Place::new().with("redress.toml", GUARDED);
    std::fs::create_dir(place.path().join("served")).unwrap();
    place
}

/// A new token of `caller`, with its id.
pub(crate) fn token(place: &Place, words: &[&str]) -> (String, String) {
    let made = place.run(&[&["token", "new", "--json", "--config", "redress.toml"], words].concat());
    assert_eq!(made.code, 0, "{}", made.seen());
    let made = made.json();
    (made["token"].as_str().unwrap().to_owned(), made["id"].as_str().unwrap().to_owned())
}

/// How a call with `token` ends: `ok`, or its code.
pub(crate) fn called(place: &Place, url: &str, token: &str) -> String {
    let mut command = place.command(&["call", "files.list", "--json", "--server", url]);
    let answer = Ran::of(command.env("REDRESS_TOKEN", token)).json();
    answer["code"].as_str().unwrap_or("ok").to_owned()
}

/// Waits until `holds`, and for no longer than a slow machine needs.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..400 {
        if holds() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("{what}");
}

#[test]
fn the_file_of_the_tokens_is_named_as_it_is_for_a_server_too() {
    let place = Place::new();
    let made = place.run(&["token", "new", "ada", "--tokens", "other.json"]);
    assert!(made.code == 0 && place.path().join("other.json").exists(), "{}", made.seen());
    assert_eq!(place.run(&["token", "list", "--json", "--file", "other.json"]).json()[0]["caller"], "ada");
}

#[test]
fn a_token_is_shown_once_and_kept_as_a_hash_alone() {
    let place = guarded();
    let words = ["token", "new", "ada", "--scope", "files:read", "--expires", "90d", "--note", "laptop"];
    let made = place.run(&[words.as_slice(), &["--config", "redress.toml"]].concat());
    let secret = made.out.trim().to_owned();
    assert!(made.code == 0 && secret.starts_with("rd_") && made.out.lines().count() == 1, "{}", made.seen());
    assert!(!made.err.contains(&secret), "{}", made.err);
    let kept = std::fs::read_to_string(place.path().join("tokens.json")).unwrap();
    let tail = secret.rsplit('_').next().unwrap();
    assert!(!kept.contains(tail), "{kept}");
    let listed = place.run(&["token", "list", "--json", "--config", "redress.toml"]).json();
    assert_eq!(
        (&listed[0]["caller"], &listed[0]["scopes"], &listed[0]["note"]),
        (&json!("ada"), &json!(["files:read"]), &json!("laptop"))
    );
    assert!(listed[0].get("token").is_none() && listed[0].get("hash").is_none() && listed[0]["expires"].is_string());
    let shown = place.run(&["token", "list", "--config", "redress.toml"]).out;
    assert!(shown.contains("ada") && shown.contains("files:read") && !shown.contains(tail), "{shown}");
}

#[test]
fn what_is_wrong_with_a_token_is_told_with_what_to_do() {
    let place = Place::new().with("redress.toml", "").with("broken.json", "{");
    let code = |words: &[&str]| {
        let ran = place.run(&[&["token"], words, &["--json"]].concat());
        (ran.code, ran.json()["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(
        code(&["list", "--config", "redress.toml"]),
        (2, "CONFIG_INVALID".to_owned()),
        "the configuration names no file"
    );
    assert_eq!(code(&["list", "--file", "broken.json"]), (2, "ACCESS_UNUSABLE".to_owned()));
    assert_eq!(code(&["new", "", "--file", "t.json"]), (2, "USAGE".to_owned()));
    assert_eq!(code(&["new", "ada", "--scope", "two words", "--file", "t.json"]), (2, "USAGE".to_owned()));
    assert_eq!(code(&["revoke", "0123", "--file", "t.json"]), (2, "TOKEN_UNKNOWN".to_owned()));
    assert_eq!(code(&["new", "ada", "--file", "nowhere/t.json"]), (2, "FILE_UNWRITABLE".to_owned()));
    let elsewhere = Place::new().run(&["token", "list", "--json"]);
    assert_eq!((elsewhere.code, &elsewhere.json()["code"]), (2, &json!("USAGE")));
}

#[test]
fn a_configuration_that_is_typed_goes_before_the_environment() {
    let place = guarded();
    token(&place, &["ada", "--file", "other.json"]);
    let listed = |words: &[&str]| {
        let mut command = place.command(&[&["token", "list", "--json"], words].concat());
        Ran::of(command.env("REDRESS_TOKENS", "other.json")).json().as_array().unwrap().len()
    };
    assert_eq!((listed(&[]), listed(&["--config", "redress.toml"])), (1, 0));
    assert_eq!(listed(&["--config", "redress.toml", "--file", "other.json"]), 1, "both are typed");
    let mut audit = place.command(&["audit", "redress.toml", "--json"]);
    let told = Ran::of(audit.env("REDRESS_STATE", "nowhere"));
    assert!(told.out.contains("keeps the state in memory"), "{}", told.seen());
}

#[test]
fn tokens_are_rotated_without_a_restart() {
    let place = guarded();
    let (old, id) = token(&place, &["ada", "--scope", "files:read"]);
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let url = served.url();
    assert_eq!(served.screen()["caller"], "token");
    assert_eq!(
        (called(&place, &url, &old), called(&place, &url, "rd_no_token")),
        ("ok".into(), "AUTH_REQUIRED".into())
    );
    let (new, _) = token(&place, &["ada", "--scope", "files:read"]);
    until("the new token is known", || called(&place, &url, &new) == "ok");
    assert_eq!(called(&place, &url, &old), "ok", "both hold until one is taken back");
    assert_eq!(place.run(&["token", "revoke", &id, "--config", "redress.toml"]).code, 0);
    until("the old token is gone", || called(&place, &url, &old) == "AUTH_REQUIRED");
    assert_eq!(called(&place, &url, &new), "ok");
    let written = served.stop();
    assert!(!written.contains(&new) && !written.contains(&old), "{written}");
}

#[test]
fn a_scope_that_is_missing_is_named() {
    let place = guarded();
    let (ada, _) = token(&place, &["ada", "--scope", "files:read"]);
    let (watcher, _) = token(&place, &["prometheus", "--scope", "metrics:read"]);
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let client = reqwest::blocking::Client::new();
    let metrics = |token: &str| client.get(format!("{}/metrics", served.url())).bearer_auth(token).send().unwrap();
    let refused = metrics(&ada);
    assert_eq!(refused.status(), 403);
    let problem: Value = serde_json::from_str(&refused.text().unwrap()).unwrap();
    assert!(problem.to_string().contains("metrics:read"), "{problem}");
    assert!(metrics(&watcher).text().unwrap().contains("redress_calls_total"));
    served.stop();
    let place = place.with("redress.toml", &format!("{GUARDED}[telemetry]\nmetrics_open = true\n"));
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    assert_eq!(client.get(format!("{}/metrics", served.url())).send().unwrap().status(), 200, "it was opened to all");
    served.stop();
}

#[test]
fn a_folder_that_holds_what_says_who_may_call_is_not_served() {
    let place = Place::new().with("redress.toml", &GUARDED.replace("root = \"served\"\n", ""));
    token(&place, &["ada", "--scope", "files:read"]);
    let refused = place.run(&["serve", "redress.toml", "--json"]);
    assert_eq!((refused.code, &refused.json()["code"]), (2, &json!("ROOT_NOT_APART")), "{}", refused.seen());
    assert!(refused.json()["error"].as_str().unwrap().contains("callers must not read"));
    let hint = refused.json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`--root FOLDER`") && hint.contains("tokens.json"), "{hint}");
    assert!(!hint.contains("--write"), "to read is enough: {hint}");
    assert_eq!(refused.json()["next"][0], "redress explain ROOT_NOT_APART");
    assert!(place.run(&["doctor", "redress.toml"]).out.contains("callers must not read"));
}

#[test]
fn a_token_that_the_configuration_knows_by_its_hash_needs_no_file() {
    let place = guarded();
    let made = place.run(&["token", "new", "ada", "--scope", "files:read", "--expires", "90d", "--print-hash"]);
    let token = made.out.trim().to_owned();
    assert!(made.code == 0 && token.starts_with("rd_") && !made.err.contains(&token), "{}", made.seen());
    assert!(!place.path().join("tokens.json").exists(), "it is kept nowhere");
    let (_, table) = made.err.split_once('\n').unwrap();
    let programs = place.run(&["token", "new", "bob", "--print-hash", "--json"]).json();
    assert_eq!((&programs["caller"], &programs["scopes"]), (&json!("bob"), &json!([])));
    let other = format!("[[access.hashes]]\ncaller = \"bob\"\nsha256 = {}\n", programs["sha256"]);
    let ended = format!("{other}expires = \"2020-01-01\"\n");
    let serving = GUARDED.replace("[access]\ntokens = \"tokens.json\"\n", "");
    let place = place.with("redress.toml", &format!("{serving}{table}{ended}"));
    let mut served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let (url, mut log) = (served.url(), served.log());
    let bob = programs["token"].as_str().unwrap();
    assert_eq!((called(&place, &url, &token), called(&place, &url, bob)), ("ok".into(), "AUTH_REQUIRED".into()));
    // A reload takes one away and gives one that has no scopes.
    std::fs::write(place.path().join("redress.toml"), format!("{serving}{other}")).unwrap();
    log.line_with("read again and holds");
    assert_eq!((called(&place, &url, &token), called(&place, &url, bob)), ("AUTH_REQUIRED".into(), "FORBIDDEN".into()));
    served.stop();
    let checks = place.run(&["doctor", "redress.toml"]);
    assert!(checks.out.contains("1 in the configuration"), "{}", checks.seen());
}

#[test]
fn a_hash_that_is_none_is_refused_and_not_shown() {
    let table = "[[access.hashes]]\ncaller = \"ada\"\nsha256 = \"the token itself\"\n";
    let place = guarded().with("redress.toml", &format!("{GUARDED}{table}"));
    let ran = place.run(&["serve", "redress.toml", "--json"]);
    assert_eq!((ran.code, ran.json()["code"].as_str().unwrap()), (2, "ACCESS_UNUSABLE"), "{}", ran.seen());
    assert!(!ran.seen().contains("itself"), "{}", ran.seen());
}

#[test]
fn a_token_that_would_end_after_the_calendar_is_refused_with_the_longest_that_is_taken() {
    let place = Place::new();
    for far in ["3000000d", "99999y", "99999999999d", "18446744073709551615s"] {
        for more in [["--file", "t.json"], ["--print-hash", "--json"]] {
            let ran = place.run(&[&["token", "new", "a", "--expires", far], more.as_slice()].concat());
            assert_eq!(ran.code, 2, "{far}: {}", ran.seen());
            assert!(ran.seen().contains("the longest is `"), "{far}: {}", ran.seen());
        }
    }
    let ended = place.run(&["token", "new", "a", "--expires", "999ms", "--file", "t.json"]);
    assert!(ended.code == 2 && ended.err.contains("the shortest is `1s`"), "{}", ended.seen());
    let said = place.run(&["token", "new", "a", "--expires", "3000000d", "--file", "t.json"]).err;
    let longest = said.split("the longest is `").nth(1).unwrap().split('`').next().unwrap();
    let ran = place.run(&["token", "new", "a", "--expires", longest, "--file", "t.json"]);
    assert_eq!(ran.code, 0, "{}", ran.seen());
    // Nor does a time in the file stop who reads it.
    let kept = std::fs::read_to_string(place.path().join("t.json")).unwrap();
    for time in ["0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"] {
        let (before, after) = kept.split_once("\"expires\": \"").unwrap();
        let after = after.split_once('"').unwrap().1;
        std::fs::write(place.path().join("t.json"), format!("{before}\"expires\": \"{time}\"{after}")).unwrap();
        for more in [&["--file", "t.json"][..], &["--file", "t.json", "--json"]] {
            let ran = place.run(&[&["token", "list"], more].concat());
            assert_eq!(ran.code, 0, "{time}: {}", ran.seen());
        }
    }
}
