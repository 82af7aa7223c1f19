//! Attempts to leave the folder, each by every operation.

use std::{fs, os::unix::fs::symlink};

use redress::testing::assert_ok;
use serde_json::{Value, json};

use crate::folder::{Folder, SECRET};

/// Each of these would lead to `outside/secret.txt`, or to a file of the system, if it could.
fn attempts(folder: &Folder) -> Vec<String> {
    let secret = folder.outside().join("secret.txt").to_str().unwrap().to_owned();
    let written = [
        // Upwards.
        "..",
        "../",
        "../outside/secret.txt",
        "../../outside/secret.txt",
        "./../outside/secret.txt",
        "d/../../outside/secret.txt",
        "d/./../../outside/secret.txt",
        "d/../..",
        "//../outside/secret.txt",
        "d//..//..//outside/secret.txt",
        "../root/../outside/secret.txt",
        // Absolute.
        "/etc/passwd",
        "//etc/passwd",
        "///etc/passwd",
        "//",
        "/proc/self/cwd/secret.txt",
        "/proc/self/root/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "file:///etc/passwd",
        "~/secret.txt",
        "~root/.bashrc",
        "$HOME/secret.txt",
        // As other systems write it.
        "..\\outside\\secret.txt",
        "d\\..\\..\\outside\\secret.txt",
        "C:\\Windows\\win.ini",
        "C:/Windows/win.ini",
        "c:secret.txt",
        "\\\\server\\share\\secret.txt",
        "\\\\?\\C:\\secret.txt",
        "\\etc\\passwd",
        // Encoded, which is nobody's to decode here.
        "%2e%2e/outside/secret.txt",
        "..%2foutside%2fsecret.txt",
        "%2fetc%2fpasswd",
        "..%c0%afoutside",
        "%252e%252e/outside",
        "&#46;&#46;/outside",
        // Odd Unicode and what some systems make of it.
        "\u{2024}\u{2024}/outside/secret.txt",
        "\u{ff0e}\u{ff0e}/outside/secret.txt",
        "..\u{2215}outside\u{2215}secret.txt",
        "..\u{ff0f}outside",
        "..\u{2044}outside",
        ".\u{200b}./outside/secret.txt",
        "\u{feff}../outside/secret.txt",
        "..\u{200d}/outside",
        "\u{202e}..//outside",
        ".\u{ad}./outside",
        "..\u{ff3c}outside",
        // Zero bytes, controls, trailing dots and spaces.
        "d\0/../../outside/secret.txt",
        "d/x\0.txt",
        "\0",
        "d/x\n",
        "...",
        ".. ",
        "../ outside",
        ". ./outside",
        "d/x.",
        "d/x ",
        "d./x",
        "....//outside",
        // Links: to a file, a folder, by a chain, absolute, to nothing, and through one another.
        "file-link",
        "folder-link/secret.txt",
        "folder-link",
        "chain-1",
        "chain-folder-1/secret.txt",
        "absolute-link",
        "absolute-folder/secret.txt",
        "dangling",
        "dangling-absolute",
        "d/deep-link",
        "d/up/outside/secret.txt",
        "root-link/etc/passwd",
        "proc-link/self/cwd",
        "parent-link/outside/secret.txt",
        "device-link",
        "pipe-link",
        "self-absolute/x",
    ];
    let mut attempts: Vec<String> = written.iter().map(|&path| path.to_owned()).collect();
    // Absolute, and the folder itself is the first part of it, or nearly.
    let root = folder.host("").to_str().unwrap().trim_end_matches('/').to_owned();
    let beside = root.strip_suffix("root").unwrap();
    attempts.extend(
        [
            "{root}/..",
            "{root}/../outside/secret.txt",
            "{root}/d/../../outside/secret.txt",
            "{root}/../root/../outside/secret.txt",
            "{root}//../outside/secret.txt",
            "{root}/./../outside/secret.txt",
            "{root}2/secret.txt",
            "{root}-x",
            "{root} /secret.txt",
            "{root}\\..\\outside\\secret.txt",
            "{root}/d\\..\\..\\outside\\secret.txt",
            "{root}\0/../outside/secret.txt",
            "{root}/\0",
            "{root}/file-link",
            "{root}/folder-link/secret.txt",
            "{root}/absolute-folder/secret.txt",
            "{root}/parent-link/outside/secret.txt",
            "{root}/self-absolute/x",
            "{root}/{root}/../../outside/secret.txt",
            "/{root}/d/x",
            "{beside}./root/d/x",
            "{beside}outside/../root/d/x",
            "{beside}outside/secret.txt",
            "{beside}ROOT/d/x",
            "{beside}",
        ]
        .map(|path| path.replace("{root}", &root).replace("{beside}", beside)),
    );
    attempts.extend([
        secret.clone(),
        format!("/{secret}"),
        format!("d/{secret}"),
        "../".repeat(40) + "etc/passwd",
        "d/".repeat(100) + &"../".repeat(110) + "etc/passwd",
        "a".repeat(5_000),
        "a/".repeat(100),
        "b".repeat(300),
    ]);
    attempts
}

fn links(folder: &Folder) {
    folder.put("d/x", "inside");
    let outside = folder.outside();
    let link = |to: &str, name: &str| symlink(to, folder.host(name)).unwrap();
    link("../outside/secret.txt", "file-link");
    link("../outside", "folder-link");
    link("chain-2", "chain-1");
    link("d/../chain-3", "chain-2");
    link("../outside/secret.txt", "chain-3");
    link("folder-link", "chain-folder-1");
    link(outside.join("secret.txt").to_str().unwrap(), "absolute-link");
    link(outside.to_str().unwrap(), "absolute-folder");
    link("../outside/new.txt", "dangling");
    link(outside.join("new.txt").to_str().unwrap(), "dangling-absolute");
    link("../../outside/secret.txt", "d/deep-link");
    link("../..", "d/up");
    link("/", "root-link");
    link("/proc", "proc-link");
    link("..", "parent-link");
    link("/dev/zero", "device-link");
    link("/dev/stdin", "pipe-link");
    link(folder.host("d").to_str().unwrap(), "self-absolute");
}

/// The calls that read or change what is at `path`, or by it something else.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({"path": path})),
        ("read", json!({"path": path, "encoding": "base64"})),
        ("stat", json!({"path": path, "hash": true})),
        ("list", json!({"path": path})),
        ("search", json!({"path": path, "pattern": "secret", "everything": true})),
        ("edit", json!({"path": path, "old": "secret", "new": "public"})),
        ("write", json!({"path": path, "content": "overwritten", "mode": "expected_hash", "sha256": "0".repeat(64)})),
        ("write", json!({"path": format!("{path}/new.txt"), "content": "new", "mode": "create"})),
        ("move", json!({"path": format!("{path}/secret.txt"), "to": "taken"})),
        ("move", json!({"path": "d/x", "to": format!("{path}/put")})),
        ("remove", json!({"path": format!("{path}/secret.txt")})),
    ]
}

const REFUSED: [&str; 13] = [
    "PATH_OUTSIDE",
    "PATH_INVALID",
    "FILE_NOT_FOUND",
    "FOLDER_NOT_FOUND",
    "FILE_IS_FOLDER",
    "NOT_A_FILE",
    "NOT_A_FOLDER",
    "TARGET_REFUSED",
    "TARGET_FOLDER_MISSING",
    "NOTHING_TO_HASH",
    "FILE_PERMISSION_DENIED",
    "TEXT_NOT_FOUND",
    "FILE_CHANGED",
];

#[tokio::test]
async fn no_path_leaves_the_folder() {
    let folder = Folder::new();
    links(&folder);
    assert_ok!(folder.harness.call("consent.grant", json!({"operation": "files.remove"})).await);
    let attempts = attempts(&folder);
    assert!(attempts.len() >= 108, "{}", attempts.len());
    let mut made = 0;
    for path in &attempts {
        for (name, input) in calls(path) {
            let answer = folder.call(name, input).await;
            folder.assert_outside_untouched(&answer);
            // `stat` may say that a link is a link; everything else is refused, in declared words.
            let told = name == "stat" && answer.code().is_none() && answer.json()["result"]["leads_to"] == "outside";
            let refused = answer.code().is_some_and(|code| REFUSED.contains(&code));
            assert!(told || refused, "{name} {path:?}: {}", String::from_utf8_lossy(&answer.bytes()));
            made += 1;
        }
        assert_eq!(folder.text("d/x"), "inside", "{path:?}");
    }
    assert!(made >= 1_188, "{made}");
}

#[tokio::test]
async fn an_absolute_path_below_the_folder_means_what_it_means_there_and_is_told_relative() {
    let folder = Folder::with(&[("d/x", "inside"), ("y", "")]);
    folder.agree().await;
    let root = folder.host("").to_str().unwrap().trim_end_matches('/').to_owned();
    let at = |path: &str| format!("{root}/{path}");
    for top in ["/", root.as_str(), &at(""), &at(".")] {
        let listed = folder.output("list", json!({"path": top})).await;
        assert_eq!((&listed["path"], &listed["entries"][0]["path"]), (&json!("."), &json!("d")), "{top}");
    }
    for (name, input, key, value) in [
        ("read", json!({"path": at("d/x")}), "path", "d/x"),
        ("stat", json!({"path": at("/d//x")}), "path", "d/x"),
        ("list", json!({"path": at("d")}), "path", "d"),
        ("check", json!({"path": at("y"), "from": at("gone")}), "path", "y"),
        ("write", json!({"path": at("new"), "content": "n", "mode": "create"}), "path", "new"),
        ("edit", json!({"path": at("new"), "old": "n", "new": "m"}), "path", "new"),
        ("move", json!({"path": at("new"), "to": at("d/new")}), "to", "d/new"),
        ("remove", json!({"path": at("d/new")}), "path", "d/new"),
    ] {
        assert_eq!(folder.output(name, input).await[key], value, "{name}");
    }
    let found = folder.output("search", json!({"path": at("d"), "pattern": "inside"})).await;
    assert_eq!(found["matches"][0]["path"], "d/x");
    let missing = folder.call("read", json!({"path": at("d/z")})).await;
    assert_eq!(missing.details(), json!({"path": "d/z", "folder": "d"}));
    assert!(!String::from_utf8_lossy(&missing.bytes()).contains(&root));
    // By whatever name the folder was opened: here by a link, and by one that goes up.
    let beside = folder.outside().parent().unwrap().to_owned();
    symlink(folder.host(""), beside.join("link")).unwrap();
    for opened in [beside.join("link"), beside.join("outside/../root/./")] {
        let harness = crate::folder::serve(opened.clone());
        let real = json!({"path": at("d/x")});
        assert_eq!(assert_ok!(harness.call("files.read", real).await)["content"], "inside", "{opened:?}");
    }
    let harness = crate::folder::serve(beside.join("link"));
    let linked = json!({"path": beside.join("link/d/x").to_str().unwrap()});
    assert_eq!(assert_ok!(harness.call("files.read", linked).await)["path"], "d/x");
}

#[tokio::test]
async fn a_link_made_after_the_folder_was_opened_leads_nowhere_either() {
    let folder = Folder::with(&[("d/secret.txt", "inside")]);
    assert_eq!(folder.output("read", json!({"path": "d/secret.txt"})).await["content"], "inside");
    fs::remove_dir_all(folder.host("d")).unwrap();
    symlink(folder.outside(), folder.host("d")).unwrap();
    for (name, input) in calls("d").into_iter().chain(calls("d/secret.txt")) {
        if name == "stat" {
            continue;
        }
        let answer = folder.call(name, input).await;
        folder.assert_outside_untouched(&answer);
        assert!(
            answer.code().is_some_and(
                |code| ["PATH_OUTSIDE", "TARGET_REFUSED", "CONSENT_REQUIRED", "FILE_NOT_FOUND"].contains(&code)
            ),
            "{name} {:?}",
            answer.code()
        );
    }
}

#[tokio::test]
async fn replacing_a_link_that_leads_out_changes_nothing_outside() {
    let folder = Folder::new();
    links(&folder);
    for path in ["file-link", "absolute-link", "dangling", "dangling-absolute", "chain-1", "device-link"] {
        for mode in ["create", "replace"] {
            let answer = folder.call("write", json!({"path": path, "content": "x", "mode": mode})).await;
            assert_eq!(answer.code(), Some("PATH_OUTSIDE"), "{path} {mode}");
            folder.assert_outside_untouched(&answer);
        }
    }
}

#[tokio::test]
async fn another_folder_in_the_place_of_the_served_one_is_not_served() {
    let folder = Folder::with(&[("a.txt", "inside")]);
    let away = folder.outside().parent().unwrap().join("away");
    fs::rename(folder.host(""), &away).unwrap();
    symlink(folder.outside(), folder.outside().parent().unwrap().join("root")).unwrap();
    let listed = folder.call("list", json!({})).await;
    assert_eq!(crate::folder::paths(&listed.json()["result"]["entries"]), ["a.txt"]);
    assert!(
        !String::from_utf8_lossy(&folder.call("read", json!({"path": "secret.txt"})).await.bytes()).contains(SECRET)
    );
    assert_ok!(folder.call("write", json!({"path": "b.txt", "content": "x", "mode": "create"})).await);
    assert!(away.join("b.txt").exists() && !folder.outside().join("b.txt").exists());
}
