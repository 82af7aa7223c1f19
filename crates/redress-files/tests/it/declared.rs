//! What is declared: which operations are there, for whom, and what leaks.

use std::collections::BTreeSet;

use futures_util::FutureExt as _;
use redress::{
    Caller, Registry,
    testing::{Canary, Examples, Harness, assert_failure, assert_ok},
};
use redress_files::Files;
use serde_json::json;

use crate::folder::{Folder, caller};

fn names(files: &Files, write: bool) -> Vec<String> {
    files.operations(write).iter().map(|operation| operation.declaration().name().to_string()).collect()
}

#[test]
fn what_changes_files_is_there_only_when_asked_for() {
    let folder = Folder::new();
    let files = Files::open(folder.host(".")).unwrap();
    let looking = ["files.list", "files.stat", "files.read", "files.search", "files.search_stream", "files.watch"]
        .map(str::to_owned);
    assert_eq!(names(&files, false), looking);
    let changing = ["files.write", "files.edit", "files.move", "files.remove", "files.check"].map(str::to_owned);
    assert_eq!(names(&files, true), [looking.as_slice(), &changing].concat());
    assert!(files.add_to(Registry::builder()).build().unwrap().operation("files.write").is_none());
}

#[test]
fn a_folder_that_is_not_there_cannot_be_served() {
    let error = Files::open(Folder::new().host("nothing")).unwrap_err();
    assert_eq!(error.to_string(), "the folder cannot be opened");
}

#[tokio::test]
async fn reading_and_writing_have_scopes_and_removing_asks_for_consent() {
    let folder = Folder::with(&[("a.txt", "a")]);
    let reader = folder.harness.as_caller(Caller::new("bob").scope("files:read"));
    assert_ok!(reader.call("files.read", json!({"path": "a.txt"})).await);
    for (name, input) in [
        ("files.write", json!({"path": "b", "content": "", "mode": "create"})),
        ("files.edit", json!({"path": "a.txt", "old": "a", "new": "b"})),
        ("files.move", json!({"path": "a.txt", "to": "b"})),
        ("files.remove", json!({"path": "a.txt"})),
    ] {
        assert_failure!(reader.call(name, input).await, FORBIDDEN);
    }
    let stranger = folder.harness.as_caller(Caller::new("eve"));
    assert_failure!(stranger.call("files.list", json!({})).await, FORBIDDEN);
    assert_failure!(
        folder.harness.as_caller(caller()).call("files.remove", json!({"path": "a.txt"})).await,
        CONSENT_REQUIRED
    );
    assert_ok!(folder.remove(json!({"path": "a.txt"})).await);
}

/// What the example of an operation finds in the folder.
fn found_by(operation: &str, input: &serde_json::Value) -> &'static [(&'static str, &'static str)] {
    match (operation, input["old"].as_str()) {
        ("files.edit", Some("teh")) => &[("notes.md", "teh\n")],
        ("files.edit", _) => &[("notes.md", "tree\n")],
        ("files.move", _) if input["to"] == "plan.md" => &[("notes.md", "test"), ("plan.md", "")],
        ("files.remove", _) => &[("old/a.md", ""), ("old/b.md", "")],
        ("files.search", _) => &[("src/main.rs", "fn main() {}")],
        ("files.list" | "files.stat" | "files.read" | "files.write" | "files.move" | "files.check", _) => {
            &[("notes.md", "test")]
        }
        (other, _) => panic!("say what the examples of {other} find"),
    }
}

#[tokio::test]
async fn every_example_is_what_really_happens() {
    let mut folders = Vec::new();
    let report = Examples::of(Folder::new().harness)
        .afresh(|operation, example| {
            let folder = Folder::with(found_by(operation.name().as_str(), &example.input));
            folder.agree().now_or_never().expect("a consent in memory is given at once");
            let harness = folder.harness.clone();
            folders.push(folder);
            harness
        })
        .run()
        .await;
    report.assert_hold();
    assert_eq!(report.held, 19);
}

#[test]
fn the_codes_that_clients_match_on_stay() {
    let folder = Folder::new();
    let codes: BTreeSet<String> = Files::open(folder.host("."))
        .unwrap()
        .operations(true)
        .iter()
        .flat_map(|operation| {
            operation.declaration().failures().iter().map(|failure| failure.code().to_string()).collect::<Vec<_>>()
        })
        .collect();
    let known = [
        "AFTER_INVALID",
        "CHECK_UNCONFIRMED",
        "CONTENT_NOT_BASE64",
        "EDIT_AMBIGUOUS",
        "EDIT_TOO_FEW",
        "EXPECTED_TWICE",
        "FILE_CHANGED",
        "FILE_EXISTS",
        "FILE_IS_BINARY",
        "FILE_IS_FOLDER",
        "FILE_NOT_FOUND",
        "FILE_NOT_TEXT",
        "FILE_PERMISSION_DENIED",
        "FILE_TOO_LARGE",
        "FOLDER_NOT_EMPTY",
        "FOLDER_NOT_FOUND",
        "GLOB_INVALID",
        "HASH_MISPLACED",
        "LINE_PAST_END",
        "MOVE_UNCONFIRMED",
        "NOTHING_TO_HASH",
        "NOT_A_FILE",
        "NOT_A_FOLDER",
        "OFFSET_PAST_END",
        "PATH_INVALID",
        "PATH_OUTSIDE",
        "PATTERN_INVALID",
        "REMOVE_INCOMPLETE",
        "STORAGE_FULL",
        "STORAGE_READ_ONLY",
        "TARGET_EXISTS",
        "TARGET_FOLDER_MISSING",
        "TARGET_REFUSED",
        "TEXT_NOT_FOUND",
        "WATCHERS_FULL",
        "WATCH_TOO_LARGE",
        "WATCH_UNAVAILABLE",
        "WINDOW_CONFLICTING",
        "WRITE_UNCONFIRMED",
    ];
    assert_eq!(codes.iter().map(String::as_str).collect::<Vec<_>>(), known);
}

#[test]
fn every_path_says_what_it_is_relative_to() {
    let folder = Folder::new();
    for operation in Files::open(folder.host(".")).unwrap().operations(true) {
        let schema = serde_json::to_value(operation.declaration().input()).unwrap();
        let said = schema["properties"]["path"]["description"].as_str().unwrap_or_default();
        assert!(said.contains("elative to the served"), "{}: {said:?}", operation.declaration().name());
        assert!(said.len() < 80, "every host pays for it: {said:?}");
    }
}

#[test]
fn a_code_that_was_split_still_goes_by_its_old_name() {
    let folder = Folder::new();
    let operations = Files::open(folder.host(".")).unwrap().operations(true);
    for (code, parent) in [("FILE_IS_FOLDER", "NOT_A_FILE"), ("EDIT_TOO_FEW", "EDIT_AMBIGUOUS")] {
        let failures: Vec<_> = operations
            .iter()
            .flat_map(|operation| operation.declaration().failures())
            .filter(|failure| failure.code().as_str() == code)
            .collect();
        assert!(!failures.is_empty());
        for failure in failures {
            assert!(failure.extends().iter().any(|known| known.as_str() == parent), "{code}");
        }
    }
}

#[tokio::test]
async fn the_path_of_the_folder_is_in_no_byte_that_leaves() {
    let canary = Canary::new();
    let marker = canary.plant("the path of the folder on the host");
    let folder = Folder::named(&marker);
    folder.put("a.txt", "one\ntwo\n");
    folder.put("b/c.bin", b"\0\x01");
    std::os::unix::fs::symlink(folder.outside().join("secret.txt"), folder.host("out")).unwrap();
    std::os::unix::fs::symlink(folder.host("a.txt"), folder.host("absolute")).unwrap();
    std::os::unix::fs::symlink("loop", folder.host("loop")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, folder.host("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let paths = [
        ".",
        "a.txt",
        "b",
        "b/c.bin",
        "out",
        "absolute",
        "loop",
        "pipe",
        "nothing",
        "nothing/at/all",
        "..",
        "../a",
        "/etc",
        "a\0",
        "a.txt/b",
        "",
        folder.host("a.txt").to_str().unwrap(),
        &folder.host("").to_str().unwrap()[1..],
    ]
    .map(str::to_owned);
    let harness: &Harness = &folder.harness;
    assert_ok!(harness.call("consent.grant", json!({"operation": "files.remove"})).await);
    for path in paths {
        if path.contains(&marker) && !path.starts_with('/') {
            // Without its slash it is a relative path, which a failure names as it was given.
            continue;
        }
        // A caller that sends the marker knows it already; an answer may not repeat it either.
        for (name, input) in [
            ("list", json!({"path": path, "depth": 3})),
            ("stat", json!({"path": path})),
            ("stat", json!({"path": path, "hash": true})),
            ("read", json!({"path": path})),
            ("read", json!({"path": path, "encoding": "base64"})),
            ("search", json!({"path": path, "pattern": "."})),
            ("edit", json!({"path": path, "old": "nowhere", "new": ""})),
            ("write", json!({"path": path, "content": "x", "mode": "create"})),
            ("write", json!({"path": path, "content": "x", "mode": "expected_hash", "sha256": "0".repeat(64)})),
            ("move", json!({"path": path, "to": "a.txt"})),
            ("move", json!({"path": "a.txt", "to": path})),
            ("remove", json!({"path": path})),
        ] {
            let answer = folder.call(name, input).await;
            canary.check(name, answer.bytes());
            assert_ne!(answer.code(), Some("INTERNAL"), "{name} {path:?} {}", String::from_utf8_lossy(&answer.bytes()));
            folder.put("a.txt", "one\ntwo\n");
        }
        for name in ["watch", "search_stream"] {
            let input = serde_json::to_vec(&json!({"path": path, "pattern": "."})).unwrap();
            if let Err(envelope) = harness.open(&format!("files.{name}"), redress::Request::new(&input)).await {
                canary.check(name, envelope.into_bytes());
            }
        }
    }
    canary.check("debug", format!("{:?}", Files::open(folder.host(".")).unwrap()));
    canary.assert_clean();
}
