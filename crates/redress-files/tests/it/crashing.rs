//! A process that is killed while it writes: the file is the old one or the new one.
//!
//! The test binary starts itself again, and that one writes without end until it is killed.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use redress::testing::assert_ok;
use serde_json::json;

use crate::folder::{Folder, paths, serve};

const ROOT: &str = "REDRESS_FILES_CRASH_ROOT";
/// How often it is killed in each way.
const KILLS: usize = 100;
/// Large enough that writing it takes a while.
const SIZE: usize = 300_000;

/// What the file holds in its nth version. Each line says which, so that a mixture shows.
fn version(n: usize) -> String {
    let line = format!("version {n:09}\n");
    line.repeat(SIZE / line.len() + n % 7 * 1_000)
}

/// The version that `text` is, if it is a whole one.
fn whole(text: &str) -> Option<usize> {
    let n = text.get(8..17)?.parse().ok()?;
    (text == version(n)).then_some(n)
}

#[test]
fn a_process_killed_while_it_writes_leaves_the_old_file_or_the_new() {
    killed("a_process_killed_while_it_writes_leaves_the_old_file_or_the_new", "write");
}

#[test]
fn a_process_killed_while_it_edits_leaves_the_old_file_or_the_new() {
    killed("a_process_killed_while_it_edits_leaves_the_old_file_or_the_new", "edit");
}

/// Starts the test `name` again and again, as the process that writes, and kills it.
fn killed(name: &str, by: &str) {
    if let Ok(root) = std::env::var(ROOT) {
        return writes_without_end(root, by);
    }
    let folder = Folder::new();
    let (mut last, mut unfinished) = (0, 0);
    folder.put("file", version(0));
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("crashing::{name}"), "--nocapture"])
            .env(ROOT, folder.host(""))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Its first write has swept what the one before left, so what appears from here on is its own.
        assert!(lines.any(|line| line.unwrap().contains("wrote")), "the writer never began");
        while temporary(&folder.host("")) == 0 {}
        // The file is being written now; the delays spread the kills from there to after the rename.
        std::thread::sleep(Duration::from_micros(u64::try_from(kill).unwrap() * 37 % 100 * 15));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = folder.text("file");
        let now = whole(&text).unwrap_or_else(|| panic!("kill {kill}: neither old nor new, {} bytes", text.len()));
        assert!(now >= last, "kill {kill}: an older version came back");
        unfinished += usize::from(temporary(&folder.host("")) > 0);
        last = now;
    }
    assert!(unfinished >= KILLS / 5, "{by}: only {unfinished} of {KILLS} kills hit an unfinished file");
    after(&folder);
}

fn temporary(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != "file").count()
}

/// What crashed writers left is seen by nobody and in nobody's way.
#[tokio::main(flavor = "current_thread")]
async fn after(folder: &Folder) {
    fs::write(folder.host(".redress-0123456789abcdef.tmp"), "left").unwrap();
    let listing = folder.output("list", json!({})).await;
    assert_eq!((paths(&listing["entries"]), &listing["unnamed"]), (vec!["file"], &json!(0)));
    let found = folder.output("search", json!({"pattern": "left", "everything": true})).await;
    assert!(paths(&found["matches"]).is_empty());
    // A process that begins anew takes it away.
    let fresh = serve(folder.host(""));
    assert_ok!(fresh.call("files.write", json!({"path": "file", "content": "new", "mode": "replace"})).await);
    assert_eq!(temporary(&folder.host("")), 0);
}

/// What the process does that is killed.
#[tokio::main(flavor = "current_thread")]
async fn writes_without_end(root: String, by: &str) {
    let file = Path::new(&root).join("file");
    let harness = serve(root.into());
    let mut n = whole(&fs::read_to_string(file).unwrap()).unwrap();
    loop {
        let (old, new) = (version(n), version(n + 1));
        n += 1;
        let answer = if by == "edit" {
            harness.call("files.edit", json!({"path": "file", "old": old, "new": new})).await
        } else {
            harness.call("files.write", json!({"path": "file", "content": new, "mode": "replace"})).await
        };
        assert_ok!(answer);
        #[expect(clippy::print_stdout, reason = "the parent waits for this line")]
        {
            println!("wrote {n}");
        }
    }
}
