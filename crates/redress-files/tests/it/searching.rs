//! `files.search` and `files.search_stream`.

use redress::{
    Event,
    testing::{assert_failure, assert_ok},
};
use serde_json::{Value, json};

use crate::folder::{Folder, SECRET, paths};

#[tokio::test]
async fn lines_that_match_are_found_with_their_place() {
    let folder = Folder::with(&[
        ("b.rs", "fn one() {}\n// nothing\r\n  fn two() {}"),
        ("a/c.rs", "fn three\n"),
        ("d.md", "fn four"),
    ]);
    let found = folder.output("search", json!({"pattern": r"fn \w+", "globs": ["*.rs"]})).await;
    assert_eq!(
        found,
        json!({"matches": [
            {"path": "a/c.rs", "line": 1, "column": 1, "text": "fn three"},
            {"path": "b.rs", "line": 1, "column": 1, "text": "fn one() {}"},
            {"path": "b.rs", "line": 3, "column": 3, "text": "  fn two() {}"},
        ], "truncated": false, "files": 2, "skipped": 0})
    );
}

#[tokio::test]
async fn globs_case_and_literal_text_narrow_it() {
    let folder = Folder::with(&[("a.rs", "Foo(\n"), ("x/b.rs", "foo(\n"), ("x/c.md", "foo(\n"), ("y/d.md", "foo(\n")]);
    for (more, wanted) in [
        (json!({}), vec!["x/b.rs", "x/c.md", "y/d.md"]),
        (json!({"case": "insensitive"}), vec!["a.rs", "x/b.rs", "x/c.md", "y/d.md"]),
        (json!({"case": "smart", "globs": ["*.rs"]}), vec!["a.rs", "x/b.rs"]),
        (json!({"globs": ["x/**"]}), vec!["x/b.rs", "x/c.md"]),
        (json!({"globs": ["!x"]}), vec!["y/d.md"]),
        (json!({"globs": ["*.md", "!y/**"]}), vec!["x/c.md"]),
        (json!({"path": "x"}), vec!["x/b.rs", "x/c.md"]),
    ] {
        let mut input = json!({"pattern": "foo(", "literal": true});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = folder.output("search", input).await;
        assert_eq!(paths(&found["matches"]), wanted, "{more}");
    }
}

#[tokio::test]
async fn hidden_and_ignored_files_are_searched_only_when_asked() {
    let folder = Folder::with(&[
        (".gitignore", "*.log\n/build/\n!keep.log\n"),
        ("a.log", "x"),
        ("keep.log", "x"),
        ("build/b", "x"),
        ("sub/build/c", "x"),
        ("sub/.ignore", "c2"),
        ("sub/c2", "x"),
        (".hidden", "x"),
        (".git/config", "x"),
        ("plain", "x"),
    ]);
    let found = folder.output("search", json!({"pattern": "x"})).await;
    assert_eq!(paths(&found["matches"]), ["keep.log", "plain", "sub/build/c"]);
    let found = folder.output("search", json!({"pattern": "^x$", "everything": true})).await;
    assert_eq!(found["matches"].as_array().unwrap().len(), 8);
}

#[tokio::test]
async fn one_file_is_searched_by_its_path_whatever_leaves_it_out() {
    let folder = Folder::with(&[(".gitignore", "*.log"), ("a/x.log", "one\ntwo\n"), (".env", "two"), ("b", "two")]);
    std::os::unix::fs::symlink("a/x.log", folder.host("link")).unwrap();
    for path in ["a/x.log", ".env", "link"] {
        let found = folder.output("search", json!({"pattern": "two", "path": path})).await;
        assert_eq!((paths(&found["matches"]), &found["files"]), (vec![path], &json!(1)));
    }
    let found = folder.output("search", json!({"pattern": "two", "path": "a/x.log", "globs": ["*.rs"]})).await;
    assert_eq!((&found["matches"], &found["files"]), (&json!([]), &json!(0)));
    let streamed = folder.harness.subscribe("files.search_stream", json!({"pattern": "two", "path": "a/x.log"})).await;
    assert_eq!(streamed.items::<Value>().len(), 2);
    rustix::fs::mknodat(rustix::fs::CWD, folder.host("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    assert_failure!(folder.call("search", json!({"pattern": "a", "path": "pipe"})).await, NOT_A_FOLDER);
}

#[tokio::test]
async fn where_only_hidden_or_ignored_files_match_it_says_so() {
    let folder = Folder::with(&[
        (".gitignore", "build/\n*.log\n"),
        ("build/deep/out.js", "needle"),
        ("a.log", "thread"),
        (".env", "KEY=1"),
        (".git/config", "remote"),
        ("src/a.js", "nothing"),
    ]);
    for (pattern, more, wanted) in [
        ("needle", json!({}), Some("build/deep/out.js")),
        ("thread", json!({}), Some("a.log")),
        ("KEY", json!({}), Some(".env")),
        ("needle", json!({"globs": ["*.rs"]}), None),
        ("needle", json!({"path": "src"}), None),
        ("needle", json!({"everything": true}), None),
        ("remote", json!({}), None),
        ("nothing", json!({}), None),
        ("nowhere", json!({}), None),
    ] {
        let mut input = json!({"pattern": pattern});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = folder.output("search", input.clone()).await;
        assert_eq!(found.get("with_everything").and_then(Value::as_str), wanted, "{pattern} {more}");
        if let Some(wanted) = wanted {
            assert_eq!(found["matches"], json!([]));
            input["everything"] = json!(true);
            assert_eq!(paths(&folder.output("search", input).await["matches"]), [wanted]);
        }
    }
}

#[tokio::test]
async fn a_search_is_bounded_and_says_so() {
    let folder = Folder::new();
    for n in 0..20 {
        folder.put(&format!("f{n:02}"), "match\n".repeat(50));
    }
    let found = folder.output("search", json!({"pattern": "match"})).await;
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["truncated"]), (100, &json!(true)));
    let found = folder.output("search", json!({"pattern": "match", "limit": 1000})).await;
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["truncated"]), (1000, &json!(false)));
    assert_failure!(folder.call("search", json!({"pattern": "match", "limit": 10_001})).await, INVALID_INPUT);
}

#[tokio::test]
async fn long_lines_are_cut_and_files_without_text_or_too_large_are_skipped() {
    let folder = Folder::with(&[("long", &format!("{}needle{}", "a".repeat(10_000), "ä".repeat(10_000)))]);
    folder.put("binary", b"needle\0needle");
    folder.put("endless", [b"needle".to_vec(), vec![b'a'; 9 << 20]].concat());
    std::fs::File::create(folder.host("huge")).unwrap().set_len(65 << 20).unwrap();
    let found = folder.output("search", json!({"pattern": "needle"})).await;
    assert_eq!(paths(&found["matches"]), ["long"]);
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert!(text.contains("needle") && text.len() <= 400, "{}", text.len());
    assert_eq!((&found["files"], &found["skipped"], &found["truncated"]), (&json!(1), &json!(3), &json!(false)));
}

#[tokio::test]
async fn links_are_not_followed() {
    let folder = Folder::with(&[("a", "the secret inside")]);
    std::os::unix::fs::symlink("../outside", folder.host("out")).unwrap();
    std::os::unix::fs::symlink("../outside/secret.txt", folder.host("file")).unwrap();
    std::os::unix::fs::symlink(".", folder.host("circle")).unwrap();
    let found = folder.call("search", json!({"pattern": "secret", "everything": true})).await;
    assert_eq!(paths(&found.json()["result"]["matches"]), ["a"]);
    folder.assert_outside_untouched(&found);
}

#[tokio::test]
async fn a_pattern_a_glob_or_a_folder_that_cannot_be_used_is_refused() {
    let folder = Folder::with(&[("a", "")]);
    let answer = folder.call("search", json!({"pattern": "a(b"})).await;
    assert_failure!(answer, PATTERN_INVALID);
    assert_eq!(answer.details(), json!({"problem": "unclosed group", "offset": 1}));
    assert_failure!(folder.call("search", json!({"pattern": r"\w{9999}{9999}"})).await, PATTERN_INVALID);
    assert_failure!(folder.call("search", json!({"pattern": r"a\nb"})).await, PATTERN_INVALID);
    let answer = folder.call("search", json!({"pattern": "a", "globs": ["*", "[a"]})).await;
    assert_failure!(answer, GLOB_INVALID);
    assert_eq!(answer.details(), json!({"index": 1}));
    assert_failure!(folder.call("search", json!({"pattern": "a", "path": "none"})).await, FOLDER_NOT_FOUND);
    assert_failure!(folder.call("search", json!({"pattern": "a", "path": "a/b"})).await, NOT_A_FOLDER);
}

#[tokio::test]
async fn a_stream_gives_each_match_and_then_how_much_was_searched() {
    let folder = Folder::new();
    for n in 0..10 {
        folder.put(&format!("f{n}"), "match\n".repeat(50));
    }
    let collected = folder.harness.subscribe("files.search_stream", json!({"pattern": "match", "limit": 10_000})).await;
    assert!(collected.is_completed());
    let items = collected.items::<Value>();
    assert_eq!(items.len(), 501);
    assert_eq!(items[0], json!({"event": "match", "path": "f0", "line": 1, "column": 1, "text": "match"}));
    assert_eq!(items[500], json!({"event": "done", "truncated": false, "files": 10, "skipped": 0}));
    let refused = folder.harness.subscribe("files.search_stream", json!({"pattern": "(", "path": "none"})).await;
    assert_failure!(refused, PATTERN_INVALID);
    assert_failure!(
        folder.harness.subscribe("files.search_stream", json!({"pattern": "a", "path": "none"})).await,
        FOLDER_NOT_FOUND
    );
}

#[tokio::test]
async fn a_reader_that_goes_ends_the_search() {
    let folder = Folder::new();
    for n in 0..200 {
        folder.put(&format!("f{n}"), "match\n".repeat(50));
    }
    let mut stream = folder.open("search_stream", &json!({"pattern": "match", "limit": 10_000})).await;
    assert!(matches!(futures_util::StreamExt::next(&mut stream).await, Some(Event::Item(_))));
    drop(stream);
    // Nothing is held: the folder can be searched again at once.
    assert_ok!(folder.call("search", json!({"pattern": SECRET})).await);
}
