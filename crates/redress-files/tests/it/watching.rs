//! `files.watch`, with real events of the operating system.

use std::{fs, time::Duration};

use futures_util::StreamExt as _;
use redress::{Event, Subscription, testing::assert_failure};
use serde_json::{Value, json};

use crate::folder::Folder;

/// The next change; an event that takes longer than this is one that does not come.
async fn next(stream: &mut Subscription) -> (String, String, String) {
    let event = tokio::time::timeout(Duration::from_secs(10), stream.next()).await.expect("an event comes").unwrap();
    let Event::Item(item) = event else { panic!("the stream ended") };
    let item: Value = serde_json::from_slice(item.json()).unwrap();
    let text = |name: &str| item[name].as_str().unwrap().to_owned();
    (text("change"), text("path"), text("kind"))
}

/// That `wanted` comes next. A file that is still being written when it is told of may be told of
/// again as modified, so that is let pass; nothing else is.
async fn comes(stream: &mut Subscription, wanted: &(String, String, String)) {
    loop {
        let change = next(stream).await;
        if change == *wanted {
            return;
        }
        assert_eq!(change.0, "modified", "{change:?} came instead of {wanted:?}");
    }
}

fn told(change: &str, path: &str, kind: &str) -> (String, String, String) {
    (change.into(), path.into(), kind.into())
}

#[tokio::test]
async fn what_is_created_modified_and_removed_is_told() {
    let folder = Folder::with(&[("old.txt", "x")]);
    let mut stream = folder.open("watch", &json!({})).await;
    folder.put("new.txt", "x");
    comes(&mut stream, &told("created", "new.txt", "file")).await;
    folder.put("old.txt", "y");
    comes(&mut stream, &told("modified", "old.txt", "file")).await;
    fs::remove_file(folder.host("old.txt")).unwrap();
    comes(&mut stream, &told("removed", "old.txt", "file")).await;
    fs::rename(folder.host("new.txt"), folder.host("moved.txt")).unwrap();
    comes(&mut stream, &told("created", "moved.txt", "file")).await;
    comes(&mut stream, &told("removed", "new.txt", "file")).await;
}

#[tokio::test]
async fn our_own_writing_is_one_change_and_its_temporary_file_none() {
    let folder = Folder::new();
    let mut stream = folder.open("watch", &json!({})).await;
    folder.output("write", json!({"path": "a.txt", "content": "x", "mode": "create"})).await;
    comes(&mut stream, &told("created", "a.txt", "file")).await;
    folder.output("edit", json!({"path": "a.txt", "old": "x", "new": "y"})).await;
    comes(&mut stream, &told("modified", "a.txt", "file")).await;
}

#[tokio::test]
async fn new_folders_are_watched_with_what_is_in_them() {
    let folder = Folder::with(&[("d/e/x", "")]);
    let mut stream = folder.open("watch", &json!({"path": "d"})).await;
    folder.put("d/n/m/file", "x");
    for wanted in
        [told("created", "d/n", "folder"), told("created", "d/n/m", "folder"), told("created", "d/n/m/file", "file")]
    {
        comes(&mut stream, &wanted).await;
    }
    folder.put("beside", "not watched");
    fs::remove_dir_all(folder.host("d/e")).unwrap();
    comes(&mut stream, &told("removed", "d/e", "folder")).await;
    comes(&mut stream, &told("removed", "d/e/x", "file")).await;
}

#[tokio::test]
async fn without_what_is_below_only_the_folder_is_told_of() {
    let folder = Folder::with(&[("d/x", "")]);
    let mut stream = folder.open("watch", &json!({"recursive": false})).await;
    folder.put("d/y", "");
    folder.put("a", "");
    comes(&mut stream, &told("created", "a", "file")).await;
}

#[tokio::test]
async fn links_are_told_of_and_what_they_lead_to_is_not() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("../outside", folder.host("before")).unwrap();
    let mut stream = folder.open("watch", &json!({})).await;
    std::os::unix::fs::symlink("../outside", folder.host("after")).unwrap();
    comes(&mut stream, &told("created", "after", "link")).await;
    fs::write(folder.outside().join("more"), "x").unwrap();
    fs::remove_file(folder.outside().join("more")).unwrap();
    folder.put("last", "");
    comes(&mut stream, &told("created", "last", "file")).await;
}

#[tokio::test]
async fn the_end_of_the_folder_is_the_end_of_the_stream() {
    let folder = Folder::with(&[("d/x", "")]);
    let mut stream = folder.open("watch", &json!({"path": "d"})).await;
    fs::remove_dir_all(folder.host("d")).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(10), async {
        loop {
            match stream.next().await {
                Some(Event::Failed(envelope)) => break envelope,
                Some(_) => {}
                None => panic!("it ends with a failure"),
            }
        }
    });
    assert_failure!(ended.await.unwrap(), FOLDER_NOT_FOUND);
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused() {
    let folder = Folder::with(&[("file", "")]);
    for (path, code) in [("none", "FOLDER_NOT_FOUND"), ("file", "NOT_A_FOLDER"), ("..", "PATH_OUTSIDE")] {
        let refused = folder.harness.subscribe("files.watch", json!({"path": path})).await;
        assert_eq!(refused.failed().and_then(redress::Envelope::code), Some(code));
    }
}

#[tokio::test]
async fn a_folder_with_too_much_in_it_is_refused() {
    let folder = Folder::new();
    for part in 0..101 {
        let path = folder.host(&format!("{part}"));
        fs::create_dir(&path).unwrap();
        (0..1000).for_each(|n| drop(fs::File::create(path.join(n.to_string())).unwrap()));
    }
    let refused = folder.harness.subscribe("files.watch", json!({})).await;
    let problem = refused.failed().and_then(redress::Envelope::problem).expect("it is refused");
    assert_eq!((problem.code.as_str(), problem.http), ("WATCH_TOO_LARGE", 422));
    assert_eq!(problem.details.as_ref().unwrap().get(), r#"{"limit":100000}"#);
    // What the hint proposes works.
    drop(folder.open("watch", &json!({"recursive": false})).await);
    drop(folder.open("watch", &json!({"path": "7"})).await);
}

#[tokio::test]
async fn a_reader_that_is_too_slow_is_told_that_it_missed_something() {
    let folder = Folder::with(&[("a", ""), ("b", "")]);
    let mut stream = folder.open("watch", &json!({})).await;
    // Far more than waits anywhere. The two take turns, since the system tells of two like
    // changes in a row as one.
    for n in 0..20_000 {
        folder.put(if n % 2 == 0 { "a" } else { "b" }, n.to_string());
        if n % 500 == 0 {
            folder.put(&format!("{n}"), "");
        }
    }
    let mut lost = false;
    while !lost {
        let change = next(&mut stream).await;
        lost = change == told("lost", ".", "folder");
    }
    // The stream goes on.
    folder.put("last", "");
    while next(&mut stream).await != told("created", "last", "file") {}
}
