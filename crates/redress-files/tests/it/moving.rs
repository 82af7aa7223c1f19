//! `files.move` and `files.remove`.

use std::{fs, os::unix::fs::symlink};

use redress::testing::{assert_failure, assert_ok};
use serde_json::json;

use crate::folder::Folder;

#[tokio::test]
async fn files_folders_and_links_are_moved_themselves() {
    let folder = Folder::with(&[("a.txt", "a"), ("d/x", "x")]);
    symlink("a.txt", folder.host("link")).unwrap();
    for (path, to, kind) in [("a.txt", "b.txt", "file"), ("d", "e", "folder"), ("link", "e/link", "link")] {
        let moved = folder.output("move", json!({"path": path, "to": to})).await;
        assert_eq!(moved, json!({"path": path, "to": to, "kind": kind}));
        assert!(fs::symlink_metadata(folder.host(path)).is_err() && fs::symlink_metadata(folder.host(to)).is_ok());
    }
    assert_ok!(folder.call("move", json!({"path": "b.txt", "to": "new/b.txt", "make_folders": true})).await);
    assert_eq!(folder.text("new/b.txt"), "a");
}

#[tokio::test]
async fn what_is_at_the_new_path_stays_unless_a_file_may_replace_it() {
    let folder = Folder::with(&[("a", "a"), ("b", "b"), ("d/x", "x"), ("e/y", "y")]);
    let exists = folder.call("move", json!({"path": "a", "to": "b"})).await;
    let problem = assert_failure!(exists, TARGET_EXISTS);
    assert!(problem.hint.contains("`replace: true`") && problem.next_actions.is_empty(), "{}", problem.hint);
    assert_eq!(exists.json()["recovery"]["pointer"], "/to");
    assert_ok!(folder.call("move", json!({"path": "a", "to": "b", "replace": true})).await);
    assert_eq!(folder.text("b"), "a");
    for (path, to) in [("b", "d"), ("d", "b"), ("d", "e")] {
        let answer = folder.call("move", json!({"path": path, "to": to, "replace": true})).await;
        assert_failure!(answer, TARGET_REFUSED);
        assert_eq!(answer.details()["reason"], "folder");
    }
}

#[tokio::test]
async fn a_folder_as_the_new_path_leads_to_the_path_in_it() {
    let folder = Folder::with(&[("src/app.py", "a"), ("notes/x", ""), ("d/app.py", "")]);
    for (to, replace, inside, code) in [
        ("notes", false, "notes/app.py", "TARGET_EXISTS"),
        ("notes", true, "notes/app.py", "TARGET_REFUSED"),
        (".", false, "app.py", "TARGET_REFUSED"),
        ("/", false, "app.py", "TARGET_REFUSED"),
    ] {
        let answer = folder.call("move", json!({"path": "src/app.py", "to": to, "replace": replace})).await;
        let problem = answer.problem();
        assert_eq!(problem.code.to_string(), code);
        assert!(problem.hint.contains(&format!("`{inside}`")), "{}", problem.hint);
        let next = &problem.next_actions[0];
        let input: serde_json::Value = serde_json::from_str(next.input.get()).unwrap();
        assert_eq!((next.operation.as_str(), &input), ("files.move", &json!({"path": "src/app.py", "to": inside})));
        assert_ok!(folder.call("move", input).await);
        assert_ok!(folder.call("move", json!({"path": inside, "to": "src/app.py"})).await);
    }
    // Where something has that name already, or the folder would go into itself, there is no such path.
    for (path, to) in [("src/app.py", "d"), ("src", "src")] {
        let answer = folder.call("move", json!({"path": path, "to": to})).await;
        assert!(answer.code().is_some() && answer.problem().next_actions.is_empty(), "{path} {to}");
    }
}

#[tokio::test]
async fn a_new_path_that_cannot_be_is_refused() {
    let folder = Folder::with(&[("a", "a"), ("d/x", "x")]);
    symlink("../outside", folder.host("out")).unwrap();
    for (path, to, reason) in [
        ("a", "../b", "outside"),
        ("a", "/b", "outside"),
        ("a", "out/b", "outside"),
        ("a", "b\0", "invalid"),
        ("a", "a/b", "invalid"),
        ("d", "d/e", "inside_itself"),
        ("d", "d/e/f", "inside_itself"),
        ("a", ".", "folder"),
    ] {
        let answer = folder.call("move", json!({"path": path, "to": to, "make_folders": true})).await;
        assert_failure!(answer, TARGET_REFUSED);
        assert_eq!(answer.details()["reason"], reason, "{to}");
        folder.assert_outside_untouched(&answer);
    }
    let missing = folder.call("move", json!({"path": "a", "to": "n/b"})).await;
    assert_failure!(missing, TARGET_FOLDER_MISSING);
    assert_failure!(folder.call("move", json!({"path": "none", "to": "b"})).await, FILE_NOT_FOUND);
    assert_failure!(folder.call("move", json!({"path": ".", "to": "b"})).await, PATH_INVALID);
    assert_eq!(folder.text("a"), "a");
}

#[tokio::test]
async fn a_folder_is_removed_when_it_is_empty_or_all_of_it_is_meant() {
    let folder = Folder::with(&[("a", ""), ("d/x", ""), ("d/e/y", "")]);
    fs::create_dir(folder.host("empty")).unwrap();
    symlink("../../outside", folder.host("d/out")).unwrap();
    assert_eq!(assert_ok!(folder.remove(json!({"path": "a"})).await)["removed"], 1);
    assert_ok!(folder.remove(json!({"path": "empty"})).await);
    let full = folder.remove(json!({"path": "d"})).await;
    let problem = assert_failure!(full, FOLDER_NOT_EMPTY);
    assert_eq!(problem.next_actions[0].operation.as_str(), "files.list");
    let removed = assert_ok!(folder.remove(json!({"path": "d", "recursive": true})).await);
    assert_eq!(removed, json!({"path": "d", "kind": "folder", "removed": 5}));
    folder.assert_outside_unchanged();
    assert_failure!(folder.remove(json!({"path": "d"})).await, FILE_NOT_FOUND);
    assert_failure!(folder.remove(json!({"path": ".", "recursive": true})).await, PATH_INVALID);
}

#[tokio::test]
async fn a_link_is_removed_and_not_what_it_leads_to() {
    let folder = Folder::with(&[("a", "a"), ("d/x", "x")]);
    for (to, name) in [("a", "file"), ("d", "folder"), ("../outside", "out"), ("gone", "gone-link")] {
        symlink(to, folder.host(name)).unwrap();
        assert_eq!(assert_ok!(folder.remove(json!({"path": name, "recursive": true})).await)["kind"], "link");
    }
    assert_eq!((folder.text("a"), folder.text("d/x")), ("a".into(), "x".into()));
    folder.assert_outside_unchanged();
}
