//! Disks that are full, fixed or others, and a system that watches nothing more: the real ones.
//!
//! Each test starts itself again in namespaces of its own, where it may mount disks and lower
//! limits for itself alone. That takes no privilege, but a system that lets users have
//! namespaces; on one that does not these tests fail and say so.

use std::{env, fs, path::Path, process::Command};

use redress::{
    Effect,
    testing::{CallAnswer, assert_failure, assert_ok},
};
use serde_json::{Value, json};

use crate::folder::Folder;

/// Set in the process that was started again: which user namespace the first one is in.
const STARTED_FROM: &str = "REDRESS_FILES_STARTED_FROM";
const NAMESPACE: &str = "/proc/self/ns/user";

fn namespace() -> String {
    fs::read_link(NAMESPACE).unwrap().to_string_lossy().into_owned()
}

/// Whether this is the process that was started again; if not, starts it and waits for it.
fn is_apart(test: &str, words: &[&str]) -> bool {
    if let Ok(first) = env::var(STARTED_FROM) {
        assert!(words[0] != "unshare" || namespace() != first, "this would change the machine, and not a namespace");
        return true;
    }
    let started = Command::new(words[0])
        .args(&words[1..])
        .arg(env::current_exe().unwrap())
        .args(["--exact", &format!("disks::{test}"), "--nocapture"])
        .env(STARTED_FROM, namespace())
        .output();
    let output = started.unwrap_or_else(|error| panic!("`{}` cannot be run: {error}", words[0]));
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let needs = "this test needs user and mount namespaces: `unshare -Urm true` has to work for this user";
    assert!(told.contains("running 1 test"), "{needs}\n{told}");
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    false
}

/// The same, in namespaces of its own.
fn is_in_namespaces(test: &str) -> bool {
    is_apart(test, &["unshare", "--user", "--map-root-user", "--mount"])
}

fn mount(words: &[&str], at: &Path) {
    let output = Command::new("mount").args(words).arg(at).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Mounts a small disk of its own at a folder.
fn mount_disk(at: &Path) {
    fs::create_dir_all(at).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=64k", "disk"], at);
}

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content, "mode": "replace"})
}

/// That the disk was full, and nothing was changed.
#[track_caller]
fn assert_full(answer: CallAnswer) {
    let problem = assert_failure!(answer, STORAGE_FULL);
    assert_eq!((problem.http, problem.effect, problem.retryable), (507, Effect::None, false));
}

#[tokio::test]
async fn a_full_disk_is_told_and_leaves_what_was_there() {
    if !is_in_namespaces("a_full_disk_is_told_and_leaves_what_was_there") {
        return;
    }
    let folder = Folder::new();
    mount_disk(&folder.host("disk"));
    assert_ok!(folder.call("write", write("disk/file", "old")).await);
    assert_full(folder.call("write", write("disk/file", &"x".repeat(100_000))).await);
    assert_full(folder.call("edit", json!({"path": "disk/file", "old": "old", "new": "y".repeat(100_000)})).await);
    assert_eq!(folder.text("disk/file"), "old");
    let names: Vec<_> = fs::read_dir(folder.host("disk")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file"], "nothing half-written is left behind");
    // Where there is room, there is still room.
    assert_ok!(folder.call("write", write("disk/file", &"z".repeat(10_000))).await);
}

#[tokio::test]
async fn a_file_larger_than_the_process_may_write_is_told_in_the_same_way() {
    let test = "a_file_larger_than_the_process_may_write_is_told_in_the_same_way";
    // The signal would end the process before the operation could tell.
    if !is_apart(test, &["sh", "-c", r#"trap '' XFSZ; ulimit -f 16; exec "$0" "$@""#]) {
        return;
    }
    let folder = Folder::with(&[("file", "old")]);
    assert_full(folder.call("write", write("file", &"x".repeat(100_000))).await);
    assert_eq!(folder.text("file"), "old");
}

#[tokio::test]
async fn a_disk_that_cannot_be_changed_is_told() {
    if !is_in_namespaces("a_disk_that_cannot_be_changed_is_told") {
        return;
    }
    let folder = Folder::new();
    mount_disk(&folder.host("disk"));
    folder.put("disk/file", "old");
    mount(&["-o", "remount,bind,ro"], &folder.host("disk"));
    for (name, input) in [
        ("write", write("disk/file", "new")),
        ("write", write("disk/other", "new")),
        ("write", json!({"path": "disk/a/b", "content": "", "mode": "create", "make_folders": true})),
        ("edit", json!({"path": "disk/file", "old": "old", "new": "new"})),
        ("move", json!({"path": "disk/file", "to": "disk/other"})),
    ] {
        let problem = assert_failure!(folder.call(name, input.clone()).await, STORAGE_READ_ONLY);
        assert_eq!((problem.http, problem.effect), (403, Effect::None), "{name} {input}");
    }
    assert_failure!(folder.remove(json!({"path": "disk/file"})).await, STORAGE_READ_ONLY);
    assert_eq!(folder.output("read", json!({"path": "disk/file"})).await["content"], "old");
}

#[tokio::test]
async fn a_move_to_another_disk_is_refused_with_the_reason() {
    if !is_in_namespaces("a_move_to_another_disk_is_refused_with_the_reason") {
        return;
    }
    let folder = Folder::with(&[("file", "here"), ("folder/file", "here")]);
    mount_disk(&folder.host("disk"));
    for (from, to) in [("file", "disk/file"), ("folder", "disk/folder")] {
        let answer = folder.call("move", json!({"path": from, "to": to})).await;
        assert_failure!(answer, TARGET_REFUSED);
        assert_eq!(answer.details(), json!({"reason": "other_disk"}));
    }
    assert_eq!((folder.text("file"), folder.text("folder/file")), ("here".to_owned(), "here".to_owned()));
    assert_eq!(fs::read_dir(folder.host("disk")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_system_that_watches_nothing_more_is_told() {
    if !is_in_namespaces("a_system_that_watches_nothing_more_is_told") {
        return;
    }
    let folder = Folder::with(&[("a/x", ""), ("b/x", ""), ("c/x", ""), ("d/x", "")]);
    // These count what this namespace uses, and nobody else.
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let path = Path::new("/proc/sys/user").join(limit);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, if limit == "max_inotify_watches" { "3" } else { "0" }).unwrap();
        let refused = folder.harness.subscribe("files.watch", json!({})).await;
        let envelope = refused.failed().expect("it is refused");
        assert_eq!(envelope.code(), Some("WATCH_UNAVAILABLE"), "{limit}");
        // What the system said stays in the log.
        let told = String::from_utf8(envelope.to_bytes()).unwrap();
        assert!(!told.contains("cause") && !told.contains("inotify") && !told.contains("MaxFiles"), "{told}");
        fs::write(&path, before.trim()).unwrap();
    }
    // It ends as the hint says: once there is room again, watching works.
    drop(folder.open("watch", &json!({})).await);
}
