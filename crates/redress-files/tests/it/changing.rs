//! `files.write` and `files.edit`.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
};

use redress::testing::{assert_failure, assert_ok};
use serde_json::json;

use crate::folder::Folder;

#[tokio::test]
async fn a_file_is_created_once_and_replaced_when_asked() {
    let folder = Folder::new();
    let create = json!({"path": "a.txt", "content": "one", "mode": "create"});
    let written = folder.output("write", create.clone()).await;
    assert_eq!((&written["created"], &written["size"]), (&json!(true), &json!(3)));
    let exists = folder.call("write", create).await;
    let problem = assert_failure!(exists, FILE_EXISTS);
    assert!(problem.hint.contains("`replace`"), "{}", problem.hint);
    assert_eq!(exists.json()["recovery"]["pointer"], "/mode");
    let written = folder.output("write", json!({"path": "a.txt", "content": "two", "mode": "replace"})).await;
    assert_eq!((&written["created"], folder.text("a.txt").as_str()), (&json!(false), "two"));
    let looked = folder.output("stat", json!({"path": "a.txt", "hash": true})).await;
    assert_eq!(written["sha256"], looked["sha256"]);
}

#[tokio::test]
async fn a_mode_that_is_missing_or_unknown_is_answered_with_the_modes() {
    let folder = Folder::new();
    for input in [json!({"path": "a", "content": ""}), json!({"path": "a", "content": "", "mode": "overwrite"})] {
        let answer = folder.call("write", input).await;
        assert_failure!(answer, INVALID_INPUT);
        let said = answer.json().to_string();
        for mode in ["create", "replace", "expected_hash"] {
            assert!(said.contains(mode), "{said}");
        }
    }
}

#[tokio::test]
async fn only_what_the_caller_has_seen_is_replaced() {
    let folder = Folder::with(&[("a.txt", "one")]);
    let seen = folder.output("read", json!({"path": "a.txt"})).await["sha256"].clone();
    let write = |text: &str, hash: &serde_json::Value| json!({"path": "a.txt", "content": text, "mode": "expected_hash", "sha256": hash});
    assert_ok!(folder.call("write", write("two", &seen)).await);
    let changed = folder.call("write", write("three", &seen)).await;
    let problem = assert_failure!(changed, FILE_CHANGED);
    assert_eq!(problem.next_actions[0].operation.as_str(), "files.read");
    assert_eq!(changed.details()["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(folder.text("a.txt"), "two");
    let missing = json!({"path": "b.txt", "content": "", "mode": "expected_hash", "sha256": seen});
    assert_failure!(folder.call("write", missing).await, FILE_NOT_FOUND);
    for input in [
        json!({"path": "a.txt", "content": "", "mode": "expected_hash"}),
        json!({"path": "a.txt", "content": "", "mode": "replace", "sha256": seen}),
    ] {
        assert_failure!(folder.call("write", input).await, HASH_MISPLACED);
    }
    let short = json!({"path": "a.txt", "content": "", "mode": "expected_hash", "sha256": "abc"});
    assert_failure!(folder.call("write", short).await, INVALID_INPUT);
}

#[tokio::test]
async fn folders_are_made_only_when_asked() {
    let folder = Folder::with(&[("file", "x")]);
    let write = |path: &str, make: bool| json!({"path": path, "content": "x", "mode": "create", "make_folders": make});
    let missing = folder.call("write", write("a/b/c.txt", false)).await;
    let problem = assert_failure!(missing, FOLDER_NOT_FOUND);
    assert!(problem.hint.contains("`make_folders: true`"), "{}", problem.hint);
    assert_eq!(missing.json()["recovery"]["pointer"], "/make_folders");
    // Where it was tried and cannot be, it is not said again.
    std::os::unix::fs::symlink("gone", folder.host("to-nothing")).unwrap();
    assert_failure!(folder.call("write", write("to-nothing/c.txt", true)).await, NOT_A_FOLDER);
    assert_ok!(folder.call("write", write("a/b/c.txt", true)).await);
    assert_eq!(folder.text("a/b/c.txt"), "x");
    for make in [false, true] {
        assert_failure!(folder.call("write", write("file/c.txt", make)).await, NOT_A_FOLDER);
    }
    assert_failure!(folder.call("write", write("a/b", false)).await, FILE_IS_FOLDER);
    assert_failure!(folder.call("write", write(".", false)).await, PATH_INVALID);
}

#[tokio::test]
async fn bytes_are_written_from_base64() {
    let folder = Folder::new();
    let write = |content: &str| json!({"path": "a", "content": content, "encoding": "base64", "mode": "replace"});
    assert_ok!(folder.call("write", write("AP8=")).await);
    assert_eq!(fs::read(folder.host("a")).unwrap(), b"\0\xFF");
    assert_failure!(folder.call("write", write("?")).await, CONTENT_NOT_BASE64);
}

#[tokio::test]
async fn permissions_and_links_stay() {
    let folder = Folder::with(&[("d/script", "one")]);
    fs::set_permissions(folder.host("d/script"), fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("d/script", folder.host("link")).unwrap();
    assert_ok!(folder.call("write", json!({"path": "link", "content": "two", "mode": "replace"})).await);
    assert_ok!(folder.call("edit", json!({"path": "link", "old": "two", "new": "three"})).await);
    assert!(fs::symlink_metadata(folder.host("link")).unwrap().is_symlink());
    assert_eq!(folder.text("d/script"), "three");
    assert_eq!(fs::metadata(folder.host("d/script")).unwrap().permissions().mode() & 0o777, 0o750);
}

/// The bits would make a program of another user's of what a caller writes. The owner is kept where the test may set one, as root.
#[tokio::test]
async fn what_is_written_runs_as_nobody_else_and_stays_its_owners() {
    let folder = Folder::with(&[("a", "one"), ("b", "one")]);
    let given = ["a", "b"].map(|name| std::os::unix::fs::chown(folder.host(name), Some(65_534), Some(65_534)).is_ok());
    for name in ["a", "b"] {
        fs::set_permissions(folder.host(name), fs::Permissions::from_mode(0o6755)).unwrap();
    }
    assert_ok!(folder.call("write", json!({"path": "a", "content": "two", "mode": "replace"})).await);
    assert_ok!(folder.call("edit", json!({"path": "b", "old": "one", "new": "two"})).await);
    for (name, given) in ["a", "b"].into_iter().zip(given) {
        let found = fs::metadata(folder.host(name)).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, 0o755, "{name}");
        assert!(!given || (found.uid(), found.gid()) == (65_534, 65_534), "{name} belongs to {}", found.uid());
    }
}

#[tokio::test]
async fn an_edit_says_how_often_it_matched() {
    let folder = Folder::with(&[("a.txt", "x\ny x\nz\nx\n")]);
    let edited = folder.output("edit", json!({"path": "a.txt", "old": "z", "new": "Z"})).await;
    assert_eq!((&edited["replaced"], &edited["lines"]), (&json!(1), &json!([3])));
    let edited = folder.output("edit", json!({"path": "a.txt", "old": "x", "new": "xx", "count": 3})).await;
    assert_eq!((&edited["replaced"], &edited["lines"], &edited["size"]), (&json!(3), &json!([1, 2, 4]), &json!(13)));
    assert_eq!(folder.text("a.txt"), "xx\ny xx\nZ\nxx\n");
    let looked = folder.output("stat", json!({"path": "a.txt", "hash": true})).await;
    assert_eq!((&looked["sha256"], &looked["size"]), (&edited["sha256"], &edited["size"]));
}

#[tokio::test]
async fn an_ambiguous_edit_changes_nothing_and_says_where() {
    let folder = Folder::with(&[("a.txt", "x\ny x\n")]);
    let answer = folder.call("edit", json!({"path": "a.txt", "old": "x", "new": ""})).await;
    assert_failure!(answer, EDIT_AMBIGUOUS);
    assert_eq!(answer.details(), json!({"path": "a.txt", "expected": 1, "found": 2, "lines": [1, 2]}));
    assert_eq!(folder.text("a.txt"), "x\ny x\n");
}

#[tokio::test]
async fn an_edit_of_too_few_places_changes_nothing_and_says_to_expect_fewer() {
    let folder = Folder::with(&[("a.txt", "x\ny x\n")]);
    let answer = folder.call("edit", json!({"path": "a.txt", "old": "x", "new": "", "count": 3})).await;
    let problem = assert_failure!(answer, EDIT_TOO_FEW);
    assert_eq!(answer.details(), json!({"path": "a.txt", "expected": 3, "found": 2, "lines": [1, 2]}));
    assert!(problem.hint.contains("`count`") && !problem.hint.contains("unique"), "{}", problem.hint);
    let json = answer.json();
    assert_eq!((&json["recovery"]["pointer"], &json["extends"]), (&json!("/count"), &json!(["EDIT_AMBIGUOUS"])));
    assert_eq!(folder.text("a.txt"), "x\ny x\n");
}

#[tokio::test]
async fn text_that_differs_in_blanks_alone_is_answered_with_what_differs_and_where() {
    let folder =
        Folder::with(&[("a.py", "import os\r\n\r\ndef main():\r\n\tprint(1)\r\n"), ("b.py", "if x:\n    a()\n")]);
    for (path, old, differs, line, shown, hint) in [
        (
            "a.py",
            "import os\n\ndef main():",
            "line_ends",
            1,
            "import os\r\n\r\ndef main():\r\n",
            r"`\r\n` in `old` and `new`",
        ),
        ("a.py", "    print(1)", "indentation", 4, "\tprint(1)\r\n", "line 4, with another indentation"),
        ("b.py", "\ta()\n", "indentation", 2, "    a()\n", "line 2, with another indentation"),
        ("b.py", "if x:  \n    a()", "trailing_blanks", 1, "if x:\n    a()\n", "line 1, with other blanks at the ends"),
        ("b.py", "if  x:", "blanks", 1, "if x:\n", "line 1, with other blanks within"),
    ] {
        let answer = folder.call("edit", json!({"path": path, "old": old, "new": ""})).await;
        let problem = assert_failure!(answer, TEXT_NOT_FOUND);
        let place = &answer.details()["places"][0];
        assert_eq!((&place["differs"], &place["line"]), (&json!(differs), &json!(line)), "{old:?}");
        assert_eq!(problem.similar[0].value, shown);
        assert!(problem.hint.contains(hint), "{}", problem.hint);
        let next: serde_json::Value = serde_json::from_str(problem.next_actions[0].input.get()).unwrap();
        assert_eq!(next, json!({"path": path, "from_line": line, "lines": place["lines"]}));
        // What is shown is what the next call may give.
        assert_ok!(folder.call("edit", json!({"path": path, "old": shown, "new": shown})).await);
    }
}

#[tokio::test]
async fn text_that_is_not_there_is_answered_with_the_lines_that_are_near() {
    let folder = Folder::with(&[("a.rs", "fn main() {\n    println!(\"hello\");\n}\n")]);
    let answer = folder.call("edit", json!({"path": "a.rs", "old": "println!(\"helo\");", "new": ""})).await;
    let problem = assert_failure!(answer, TEXT_NOT_FOUND);
    assert_eq!(problem.similar[0].value, "    println!(\"hello\");");
    assert_eq!(answer.details(), json!({"path": "a.rs", "places": []}));
    assert_eq!(problem.next_actions[0].input.get(), r#"{"path":"a.rs"}"#);
}

#[tokio::test]
async fn what_cannot_be_edited_is_refused() {
    let folder = Folder::with(&[("a.txt", "one")]);
    folder.put("latin", b"\xFF");
    let edit = |path: &str, more: serde_json::Value| {
        let mut input = json!({"path": path, "old": "o", "new": ""});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    assert_failure!(folder.call("edit", edit("latin", json!({}))).await, FILE_NOT_TEXT);
    assert_failure!(folder.call("edit", edit("none", json!({}))).await, FILE_NOT_FOUND);
    assert_failure!(folder.call("edit", edit("a.txt", json!({"sha256": "0".repeat(64)}))).await, FILE_CHANGED);
    assert_failure!(folder.call("edit", edit("a.txt", json!({"old": ""}))).await, INVALID_INPUT);
    fs::File::create(folder.host("large")).unwrap().set_len(17 << 20).unwrap();
    assert_failure!(folder.call("edit", edit("large", json!({}))).await, FILE_TOO_LARGE);
    folder.put("grows", "o".repeat(1 << 16));
    let grow = edit("grows", json!({"new": "n".repeat(1 << 10), "count": 1 << 16}));
    assert_failure!(folder.call("edit", grow).await, FILE_TOO_LARGE);
    assert_eq!(folder.text("a.txt"), "one");
}

#[tokio::test]
async fn writers_at_the_same_time_leave_one_whole_file() {
    let folder = Folder::with(&[("n", "0")]);
    let calls = (0..40).map(|_| async {
        loop {
            let seen = folder.output("read", json!({"path": "n"})).await;
            let next = seen["content"].as_str().unwrap().parse::<u32>().unwrap() + 1;
            let input =
                json!({"path": "n", "content": next.to_string(), "mode": "expected_hash", "sha256": seen["sha256"]});
            if folder.call("write", input).await.code().is_none() {
                break;
            }
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(folder.text("n"), "40");
}
