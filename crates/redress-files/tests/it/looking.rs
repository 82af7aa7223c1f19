//! `files.list`, `files.stat` and `files.read`.

use redress::testing::{assert_failure, assert_ok};
use serde_json::json;

use crate::folder::{Folder, paths};

fn pipe(folder: &Folder, name: &str) {
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, folder.host(name), kind, mode, 0).unwrap();
}

#[tokio::test]
async fn a_folder_is_listed_sorted_with_kinds_and_sizes() {
    let folder = Folder::with(&[("b.txt", "four"), ("a/c.txt", ""), ("a-b", "")]);
    std::os::unix::fs::symlink("b.txt", folder.host("link")).unwrap();
    pipe(&folder, "pipe");
    let listing = folder.output("list", json!({})).await;
    assert_eq!(paths(&listing["entries"]), ["a", "a-b", "b.txt", "link", "pipe"]);
    let kinds: Vec<_> =
        listing["entries"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["folder", "file", "file", "link", "special"]);
    assert_eq!(listing["entries"][2]["size"], 4);
    assert_eq!((&listing["truncated"], &listing["path"]), (&json!(false), &json!(".")));
    let inner = folder.output("list", json!({"path": "a"})).await;
    assert_eq!(paths(&inner["entries"]), ["a/c.txt"]);
}

#[tokio::test]
async fn pages_put_together_are_the_whole() {
    let folder = Folder::new();
    for n in 0..30 {
        folder.put(&format!("d{}/f{n:02}", n % 4), "");
        folder.put(&format!("d{}-x", n % 4), "");
    }
    let whole = folder.output("list", json!({"depth": 5})).await;
    let whole = paths(&whole["entries"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(whole.len(), 38);
    for limit in [1, 3, 7, 38, 39] {
        let (mut gathered, mut input) = (Vec::new(), json!({"depth": 5, "limit": limit}));
        loop {
            let page = folder.output("list", input.clone()).await;
            gathered.extend(paths(&page["entries"]).into_iter().map(str::to_owned));
            assert_eq!(page["truncated"], json!(page.get("next").is_some()));
            let Some(next) = page.get("next") else { break };
            input["after"] = next.clone();
        }
        assert_eq!(gathered, whole, "{limit}");
    }
    assert_failure!(folder.call("list", json!({"after": "/x"})).await, AFTER_INVALID);
}

#[tokio::test]
async fn what_is_no_folder_is_said_to_be_none_and_a_near_one_is_named() {
    let folder = Folder::with(&[("notes/a.md", ""), ("file", "")]);
    let problem = assert_failure!(folder.call("list", json!({"path": "note"})).await, FOLDER_NOT_FOUND);
    assert_eq!(problem.similar[0].value, "notes");
    let problem = assert_failure!(folder.call("list", json!({"path": "file"})).await, NOT_A_FOLDER);
    let next = &problem.next_actions[0];
    assert_eq!((next.operation.as_str(), next.input.get()), ("files.stat", r#"{"path":"file"}"#));
    let below = assert_failure!(folder.call("list", json!({"path": "file/x"})).await, NOT_A_FOLDER);
    assert!(below.next_actions.is_empty());
}

#[tokio::test]
async fn names_that_no_path_can_have_are_counted() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::with(&[("a", ""), ("dot.", ""), ("back\\slash", "")]);
    std::fs::write(folder.host("").join(std::ffi::OsStr::from_bytes(b"latin-\xE4")), "").unwrap();
    let listing = folder.output("list", json!({})).await;
    assert_eq!((paths(&listing["entries"]), &listing["unnamed"]), (vec!["a"], &json!(3)));
}

#[tokio::test]
async fn a_missing_file_leads_to_the_folder_that_is_there_and_the_name_that_is_near() {
    let folder = Folder::with(&[("notes/plan.md", "x"), ("notes/other.txt", "")]);
    let problem = assert_failure!(folder.call("read", json!({"path": "notes/Plan.md"})).await, FILE_NOT_FOUND);
    assert_eq!(problem.similar[0].value, "notes/plan.md");
    assert!(problem.hint.contains("`similar`"), "{}", problem.hint);
    let stranger = assert_failure!(folder.call("read", json!({"path": "zzz"})).await, FILE_NOT_FOUND);
    assert!(stranger.similar.is_empty() && !stranger.hint.contains("`similar`"), "{}", stranger.hint);
    let next = &problem.next_actions[0];
    assert_eq!((next.operation.as_str(), next.input.get()), ("files.list", r#"{"path":"notes"}"#));
    // The nearest folder that exists, so that the next call works.
    let problem = assert_failure!(folder.call("stat", json!({"path": "nots/deep/er/plan.md"})).await, FILE_NOT_FOUND);
    assert_eq!(problem.next_actions[0].input.get(), r#"{"path":"."}"#);
    assert_eq!(problem.similar[0].value, "notes/plan.md");
    assert_failure!(folder.call("read", json!({"path": "notes/plan.md/x"})).await, FILE_NOT_FOUND);
}

#[tokio::test]
async fn what_is_near_is_found_anywhere_in_the_tree_by_every_operation() {
    let folder = Folder::with(&[("conf/x", ""), ("src/deep/config.toml", "a"), ("src/b.rs", "")]);
    folder.agree().await;
    for (name, input) in [
        ("read", json!({"path": "config.toml"})),
        ("read", json!({"path": "config.toml", "max_bytes": 4 << 20})),
        ("stat", json!({"path": "config.toml"})),
        ("edit", json!({"path": "config.toml", "old": "a", "new": ""})),
        ("move", json!({"path": "config.toml", "to": "c"})),
        ("remove", json!({"path": "config.toml"})),
        ("write", json!({"path": "config.toml", "content": "", "mode": "expected_hash", "sha256": "0".repeat(64)})),
    ] {
        let problem = assert_failure!(folder.call(name, input).await, FILE_NOT_FOUND);
        let near: Vec<_> = problem.similar.iter().map(|near| near.value.as_str()).collect();
        assert_eq!(near, ["src/deep/config.toml"], "{name}");
    }
    for (name, input, code) in [
        ("list", json!({"path": "deep"}), "FOLDER_NOT_FOUND"),
        ("search", json!({"path": "deep", "pattern": "a"}), "FOLDER_NOT_FOUND"),
        ("write", json!({"path": "deep/a", "content": "", "mode": "create"}), "FOLDER_NOT_FOUND"),
        ("move", json!({"path": "src/b.rs", "to": "deep/b.rs"}), "TARGET_FOLDER_MISSING"),
    ] {
        let answer = folder.call(name, input).await;
        assert_eq!((answer.code(), answer.problem().similar[0].value.as_str()), (Some(code), "src/deep"), "{name}");
    }
    let problem =
        assert_failure!(folder.call("search", json!({"path": "b.rs", "pattern": "a"})).await, FOLDER_NOT_FOUND);
    assert_eq!(problem.similar[0].value, "src/b.rs");
}

#[tokio::test]
async fn a_file_is_looked_at_and_hashed() {
    let folder = Folder::with(&[("a.txt", "test"), ("d/x", "")]);
    let looked = folder.output("stat", json!({"path": "a.txt", "hash": true})).await;
    assert_eq!(looked["sha256"], "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
    assert_eq!((&looked["kind"], &looked["size"], &looked["read_only"]), (&json!("file"), &json!(4), &json!(false)));
    assert!(looked["modified_ms"].as_u64().unwrap() > 1_600_000_000_000);
    assert_eq!(folder.output("stat", json!({"path": "."})).await["kind"], "folder");
    assert_failure!(folder.call("stat", json!({"path": "d", "hash": true})).await, NOTHING_TO_HASH);
}

#[tokio::test]
async fn a_link_says_where_it_leads_and_never_to_what_path() {
    let folder = Folder::with(&[("a.txt", "test"), ("d/x", "")]);
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.host(name)).unwrap();
    link("a.txt", "file");
    link("d", "folder");
    link("../outside/secret.txt", "out");
    link("/etc/passwd", "absolute");
    link("gone", "gone-link");
    link("loop", "loop");
    for (path, leads) in [
        ("file", "file"),
        ("folder", "folder"),
        ("out", "outside"),
        ("absolute", "outside"),
        ("gone-link", "nowhere"),
        ("loop", "nowhere"),
    ] {
        let looked = folder.output("stat", json!({"path": path})).await;
        assert_eq!((&looked["kind"], &looked["leads_to"]), (&json!("link"), &json!(leads)), "{path}");
    }
    assert_eq!(folder.output("read", json!({"path": "file"})).await["content"], "test");
    assert_failure!(folder.call("read", json!({"path": "loop"})).await, PATH_INVALID);
    assert_failure!(folder.call("read", json!({"path": "gone-link"})).await, FILE_NOT_FOUND);
}

#[tokio::test]
async fn a_file_is_read_whole_by_bytes_and_by_lines() {
    let folder = Folder::with(&[("a.txt", "one\ntwo\nthree\n")]);
    let read = async |input| folder.output("read", input).await;
    let whole = read(json!({"path": "./a.txt"})).await;
    assert_eq!((&whole["content"], &whole["path"]), (&json!("one\ntwo\nthree\n"), &json!("a.txt")));
    assert_eq!(whole["sha256"].as_str().unwrap().len(), 64);
    assert!(whole.get("next_offset").is_none());
    let part = read(json!({"path": "a.txt", "offset": 4, "length": 3})).await;
    assert_eq!((&part["content"], &part["offset"], &part["next_offset"]), (&json!("two"), &json!(4), &json!(7)));
    assert!(part.get("sha256").is_none() && part["truncated"] == false);
    let lines = read(json!({"path": "a.txt", "from_line": 2, "lines": 1})).await;
    assert_eq!(
        (&lines["content"], &lines["next_line"], &lines["next_offset"]),
        (&json!("two\n"), &json!(3), &json!(8))
    );
    let rest = read(json!({"path": "a.txt", "from_line": 3})).await;
    assert_eq!(rest["content"], "three\n");
    assert!(rest.get("next_line").is_none());
}

#[tokio::test]
async fn a_large_file_is_cut_off_said_to_be_and_read_on() {
    let folder = Folder::new();
    let text: String = (0..5_000).map(|n| format!("line {n} ä\n")).collect();
    folder.put("big.txt", &text);
    let (mut gathered, mut input) = (String::new(), json!({"path": "big.txt", "max_bytes": 1_000}));
    loop {
        let part = folder.output("read", input.clone()).await;
        gathered.push_str(part["content"].as_str().unwrap());
        assert_eq!(part["truncated"], json!(part.get("next_offset").is_some()));
        let Some(next) = part.get("next_offset") else { break };
        input["offset"] = next.clone();
    }
    assert!(gathered == text);
    let (mut gathered, mut input) = (String::new(), json!({"path": "big.txt", "max_bytes": 1_000, "from_line": 1}));
    loop {
        let part = folder.output("read", input.clone()).await;
        gathered.push_str(part["content"].as_str().unwrap());
        let Some(next) = part.get("next_line") else { break };
        input["from_line"] = next.clone();
    }
    assert!(gathered == text);
}

#[tokio::test]
async fn a_plain_read_gives_whole_lines_and_what_goes_on_comes_before_the_content() {
    let folder = Folder::new();
    let text: String = (0..9_000).map(|n| format!("zeile {n} ä\n")).collect();
    folder.put("big.txt", &text);
    let answer = folder.call("read", json!({"path": "big.txt"})).await;
    let part = assert_ok!(answer);
    let content = part["content"].as_str().unwrap();
    assert!(content.len() <= 32 * 1024 && content.len() > 32 * 1024 - 20 && content.ends_with('\n'));
    assert_eq!((part["next_offset"].as_u64(), &part["truncated"]), (Some(content.len() as u64), &json!(true)));
    assert_eq!(part["next_line"], json!(content.lines().count() + 1));
    let bytes = String::from_utf8_lossy(&answer.bytes()).into_owned();
    let at = |member: &str| bytes.find(&format!("\"{member}\":")).unwrap();
    for member in ["path", "size", "truncated", "next_line", "next_offset"] {
        assert!(at(member) < at("content"), "{member}");
    }
    // By line or by byte, what goes on is the rest, and no line is in two parts.
    for (from, next) in [("from_line", "next_line"), ("offset", "next_offset")] {
        let (mut gathered, mut input) = (String::new(), json!({"path": "big.txt"}));
        loop {
            let part = folder.output("read", input.clone()).await;
            gathered.push_str(part["content"].as_str().unwrap());
            assert!(gathered.ends_with('\n'));
            let Some(on) = part.get(next) else { break };
            input[from] = on.clone();
        }
        assert!(gathered == text, "{from}");
    }
    // A line that is longer than that is cut between two characters.
    folder.put("one.txt", "ä".repeat(40_000));
    let part = folder.output("read", json!({"path": "one.txt"})).await;
    assert_eq!((part["next_offset"].as_u64(), part.get("next_line")), (Some(32 * 1024), None));
    let odd = folder.output("read", json!({"path": "one.txt", "max_bytes": 17})).await;
    assert_eq!((odd["content"].as_str(), odd["next_offset"].as_u64()), (Some("ääääääää"), Some(16)));
}

#[tokio::test]
async fn the_end_of_a_file_is_read_by_a_negative_line() {
    let folder = Folder::new();
    folder.put("server.log", (1..=40_000).map(|n| format!("line {n}\n")).collect::<String>());
    let read = async |input| folder.output("read", input).await;
    let last = read(json!({"path": "server.log", "from_line": -20})).await;
    assert_eq!((&last["from_line"], last.get("next_line")), (&json!(39_981), None));
    let lines: Vec<_> = last["content"].as_str().unwrap().lines().collect();
    assert_eq!((lines.len(), lines[0], lines[19]), (20, "line 39981", "line 40000"));
    let some = read(json!({"path": "server.log", "from_line": -20, "lines": 2})).await;
    assert_eq!((&some["content"], &some["next_line"]), (&json!("line 39981\nline 39982\n"), &json!(39_983)));
    assert_eq!(read(json!({"path": "server.log", "from_line": -99_999, "lines": 1})).await["content"], "line 1\n");
    assert_eq!(read(json!({"path": "server.log", "from_line": i64::MIN, "lines": 1})).await["from_line"], 1);
    assert_eq!(read(json!({"path": "server.log", "from_line": 0, "lines": 1})).await["from_line"], 1);
    let conflict = json!({"path": "server.log", "from_line": -5, "offset": 3});
    assert_failure!(folder.call("read", conflict).await, WINDOW_CONFLICTING);
}

#[tokio::test]
async fn what_holds_no_text_is_refused_unless_bytes_are_asked_for() {
    let folder = Folder::new();
    folder.put("nul", b"text\0more");
    folder.put("latin", b"gr\xFC\xDFe");
    for path in ["nul", "latin"] {
        let problem = assert_failure!(folder.call("read", json!({"path": path})).await, FILE_IS_BINARY);
        assert_eq!(problem.kind.to_string(), "validation");
    }
    let bytes = folder.output("read", json!({"path": "nul", "encoding": "base64", "offset": 4, "length": 1})).await;
    assert_eq!(bytes["content"], "AA==");
}

#[tokio::test]
async fn a_window_that_cannot_be_is_refused() {
    let folder = Folder::with(&[("a.txt", "one\ntwo\n")]);
    let read = async |input| folder.call("read", input).await;
    assert_failure!(read(json!({"path": "a.txt", "offset": 1, "lines": 1})).await, WINDOW_CONFLICTING);
    assert_failure!(read(json!({"path": "a.txt", "encoding": "base64", "lines": 1})).await, WINDOW_CONFLICTING);
    // Some hosts fill in every field.
    for all in
        [json!({"path": "a.txt", "offset": 0, "lines": 2}), json!({"path": "a.txt", "from_line": 1, "length": 8})]
    {
        assert_eq!(assert_ok!(read(all).await)["content"], "one\ntwo\n");
    }
    let past = read(json!({"path": "a.txt", "offset": 9})).await;
    assert_failure!(past, OFFSET_PAST_END);
    assert_eq!(past.details(), json!({"path": "a.txt", "size": 8}));
    let past = read(json!({"path": "a.txt", "from_line": 3})).await;
    assert_failure!(past, LINE_PAST_END);
    assert_eq!(past.details(), json!({"path": "a.txt", "lines": 2}));
    assert_ok!(read(json!({"path": "a.txt", "offset": 8})).await);
    assert_failure!(read(json!({"path": "a.txt", "max_bytes": 1})).await, INVALID_INPUT);
}

#[tokio::test]
async fn pipes_and_folders_are_no_files_and_hold_nobody_up() {
    let folder = Folder::with(&[("d/x", "")]);
    pipe(&folder, "pipe");
    std::os::unix::fs::symlink("pipe", folder.host("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.host("socket")).unwrap();
    for path in ["pipe", "link", "socket"] {
        let answer =
            tokio::time::timeout(std::time::Duration::from_secs(5), folder.call("read", json!({"path": path})));
        let problem = assert_failure!(answer.await.unwrap(), NOT_A_FILE);
        assert_eq!(problem.next_actions[0].operation.as_str(), "files.stat");
    }
    for path in ["d", "."] {
        let answer = folder.call("read", json!({"path": path})).await;
        let problem = assert_failure!(answer, FILE_IS_FOLDER);
        let next = &problem.next_actions[0];
        assert_eq!(
            (next.operation.as_str(), next.input.get()),
            ("files.list", json!({"path": path}).to_string().as_str())
        );
        let recovery = &answer.json()["recovery"];
        assert_eq!((&recovery["verb"], &recovery["operation"]), (&json!("call"), &json!("files.list")));
        assert_eq!(answer.json()["extends"], json!(["NOT_A_FILE"]));
    }
    assert_failure!(folder.call("edit", json!({"path": "d", "old": "a", "new": "b"})).await, FILE_IS_FOLDER);
    assert_failure!(folder.call("edit", json!({"path": "pipe", "old": "a", "new": "b"})).await, NOT_A_FILE);
    let write = json!({"path": "pipe", "content": "", "mode": "replace"});
    assert_failure!(folder.call("write", write).await, NOT_A_FILE);
    assert_ok!(folder.call("search", json!({"pattern": "x"})).await);
}

#[tokio::test]
async fn what_does_not_fit_into_an_answer_once_it_is_json_is_not_given_and_less_of_it_is() {
    let folder = Folder::new();
    // Each of these takes six bytes in JSON.
    folder.put("controls", vec![1; 4 << 20]);
    let whole = folder.call("read", json!({"path": "controls", "max_bytes": 4 << 20})).await;
    let problem = assert_failure!(whole, RESULT_TOO_LARGE);
    assert_eq!(problem.http, 422);
    let part = folder.output("read", json!({"path": "controls", "max_bytes": 2 << 20})).await;
    assert_eq!((part["truncated"].as_bool(), part["next_offset"].as_u64()), (Some(true), Some(2 << 20)));
}
