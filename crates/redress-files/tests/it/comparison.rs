//! The tasks of the comparison in `docs/files.md`: what it says of us is what is answered here.

use redress::testing::{CallAnswer, assert_failure};
use serde_json::json;

use crate::folder::Folder;

fn said(answer: &CallAnswer) -> (String, String) {
    let problem = answer.problem();
    (problem.code.to_string(), problem.error.to_string())
}

#[tokio::test]
async fn our_side_of_the_comparison() {
    let folder = Folder::with(&[("notes/plan.md", "one\ntwo one\n")]);
    folder.put("latin.txt", b"gr\xFC\xDFe\n");
    folder.put("image.bin", b"\x89PNG\0\0\x01");
    folder.put("big.txt", (0..500_000).map(|n| format!("line {n}\n")).collect::<String>());
    std::os::unix::fs::symlink("/etc/hostname", folder.host("out")).unwrap();
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, folder.host("pipe"), kind, mode, 0).unwrap();

    let missing = folder.call("read", json!({"path": "notes/Plan.md"})).await;
    let problem = assert_failure!(missing, FILE_NOT_FOUND);
    assert_eq!(problem.similar[0].value, "notes/plan.md");
    assert_eq!(problem.next_actions[0].input.get(), r#"{"path":"notes"}"#);

    for (name, input, code, error) in [
        ("read", json!({"path": "/etc/hostname"}), "PATH_OUTSIDE", "the path leads out of the folder (absolute)"),
        ("read", json!({"path": "../../../etc/hostname"}), "PATH_OUTSIDE", "the path leads out of the folder (parent)"),
        ("read", json!({"path": "out"}), "PATH_OUTSIDE", "the path leads out of the folder (link)"),
        (
            "edit",
            json!({"path": "notes/plan.md", "old": "one", "new": "ONE"}),
            "EDIT_AMBIGUOUS",
            "notes/plan.md holds the old text 2 times, not 1",
        ),
        (
            "edit",
            json!({"path": "notes/plan.md", "old": "threee", "new": "x"}),
            "TEXT_NOT_FOUND",
            "notes/plan.md does not hold the old text",
        ),
        ("read", json!({"path": "image.bin"}), "FILE_IS_BINARY", "image.bin holds no text (7 bytes)"),
        ("read", json!({"path": "latin.txt"}), "FILE_IS_BINARY", "latin.txt holds no text (6 bytes)"),
        (
            "write",
            json!({"path": "notes/plan.md", "content": "overwritten", "mode": "create"}),
            "FILE_EXISTS",
            "notes/plan.md exists already, and the mode is `create`",
        ),
        ("move", json!({"path": "latin.txt", "to": "image.bin"}), "TARGET_EXISTS", "image.bin exists already"),
        ("list", json!({"path": "nots"}), "FOLDER_NOT_FOUND", "no folder at nots"),
        ("read", json!({"path": "pipe"}), "NOT_A_FILE", "pipe is no regular file"),
    ] {
        assert_eq!(said(&folder.call(name, input).await), (code.to_owned(), error.to_owned()));
    }

    let large = folder.output("read", json!({"path": "big.txt"})).await;
    assert_eq!(
        (&large["size"], &large["truncated"], &large["next_line"], &large["next_offset"]),
        (&json!(5_888_890), &json!(true), &json!(3_388), &json!(32_760))
    );
    let last = folder.output("read", json!({"path": "big.txt", "from_line": -2})).await;
    assert_eq!((&last["content"], &last["from_line"]), (&json!("line 499998\nline 499999\n"), &json!(499_999)));
    let lines = folder.output("read", json!({"path": "big.txt", "lines": 2})).await;
    assert_eq!((&lines["content"], &lines["next_line"]), (&json!("line 0\nline 1\n"), &json!(3)));
}
