//! A state whose files are taken away under a running service.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use redress_state::{AuditFilter, AuditReader, CloseError, OpenStateError, StateOptions, StateStore};
use serde_json::{Value, json};

use crate::service::{Runs, call, keyed, open_state, service, until};

/// A folder in a folder, so that it can be moved.
fn place() -> (tempfile::TempDir, PathBuf) {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("state");
    (around, folder)
}

fn database(folder: &Path) -> PathBuf {
    folder.join("redress.db")
}

/// Ways to take a state away.
type Loss = fn(&Path);

const LOSSES: [(&str, Loss); 9] = [
    ("the file removed", |folder| fs::remove_file(database(folder)).unwrap()),
    ("the file moved", |folder| fs::rename(database(folder), folder.join("moved")).unwrap()),
    ("the file replaced", |folder| {
        fs::copy(database(folder), folder.join("copy")).unwrap();
        fs::rename(folder.join("copy"), database(folder)).unwrap();
    }),
    ("a link in its place", |folder| {
        fs::rename(database(folder), folder.join("moved")).unwrap();
        symlink("moved", database(folder)).unwrap();
    }),
    ("the file cut short", |folder| {
        fs::OpenOptions::new().write(true).open(database(folder)).unwrap().set_len(0).unwrap();
    }),
    ("the log removed", |folder| fs::remove_file(folder.join("redress.db-wal")).unwrap()),
    ("the index removed", |folder| fs::remove_file(folder.join("redress.db-shm")).unwrap()),
    ("the folder removed", |folder| fs::remove_dir_all(folder).unwrap()),
    ("another folder in its place", |folder| {
        fs::rename(folder, folder.with_file_name("moved")).unwrap();
        fs::create_dir(folder).unwrap();
    }),
];

#[tokio::test]
async fn a_state_that_is_taken_away_refuses_what_has_to_be_kept_and_is_not_ready() {
    for (loss, take_away) in LOSSES {
        let (_around, folder) = place();
        let state = open_state(&folder).await;
        let runs = Runs::default();
        let registry = service(&state, &runs);
        assert!(call(&registry, "pay.send", &json!({})).await.is_ok() && registry.is_ready(), "{loss}");
        take_away(&folder);
        until(|| !registry.is_ready()).await;
        for refused in
            [call(&registry, "pay.send", &json!({})).await, keyed(&registry, "pay.send", "k", &json!({})).await]
        {
            let refused: Value = serde_json::from_slice(&refused.into_bytes()).unwrap();
            assert_eq!((&refused["code"], &refused["retry"]), (&json!("OVERLOADED"), &json!("safe")), "{loss}");
            assert_eq!(refused["error"], "the call cannot be recorded, so it was not made", "{loss}");
            assert_eq!(refused["details"], json!({"state": "unwritable"}), "{loss}");
            assert!(refused["hint"].as_str().unwrap().contains("`redress doctor`"), "{loss}: {refused}");
            assert!(!refused.to_string().contains(folder.to_str().unwrap()), "{loss}: {refused}");
        }
        assert_eq!(runs.get(), 1, "{loss}");
        assert!(matches!(state.close().await, Err(CloseError::Lost)), "{loss}");
    }
}

#[tokio::test]
async fn a_state_that_is_put_back_is_taken_up_by_itself_and_has_lost_nothing() {
    let (around, folder) = place();
    let state = open_state(&folder).await;
    let registry = service(&state, &Runs::default());
    let away = around.path().join("away");
    for (from, to) in [(folder.clone(), away.clone()), (database(&folder), folder.join("away"))] {
        assert!(call(&registry, "pay.send", &json!({})).await.is_ok());
        fs::rename(&from, &to).unwrap();
        until(|| !registry.is_ready()).await;
        fs::rename(&to, &from).unwrap();
        until(|| registry.is_ready()).await;
    }
    assert!(call(&registry, "pay.send", &json!({})).await.is_ok());
    state.close().await.unwrap();
    let mut reader = AuditReader::open(&folder).await.unwrap();
    assert_eq!(reader.read(&AuditFilter::new().limit(usize::MAX)).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_file_that_was_removed_is_not_made_anew_under_a_running_service() {
    let (_around, folder) = place();
    let state = open_state(&folder).await;
    fs::remove_file(database(&folder)).unwrap();
    until(|| !state.is_open()).await;
    assert!(matches!(StateStore::look(&folder).await, Err(OpenStateError::Lost)));
    // A back-up that is put there is another file, and is taken up by the next start.
    fs::write(database(&folder), "").unwrap();
    assert!(matches!(StateStore::look(&folder).await, Err(OpenStateError::Lost)));
    assert!(!state.is_open());
    assert!(matches!(StateStore::open(StateOptions::new(&folder)).await, Err(OpenStateError::Taken)));
    let _ = state.close().await;
    open_state(&folder).await.close().await.unwrap();
}

#[tokio::test]
async fn a_look_sees_that_any_of_the_files_of_a_running_service_is_gone_or_another_one() {
    for name in ["redress.db", "redress.db-wal", "redress.db-shm"] {
        let (_around, folder) = place();
        let state = open_state(&folder).await;
        assert!(matches!(StateStore::look(&folder).await, Err(OpenStateError::Taken)), "{name}");
        // The copy is there before the file goes, so that it cannot be of the same number.
        fs::copy(folder.join(name), folder.join("copy")).unwrap();
        fs::rename(folder.join("copy"), folder.join(name)).unwrap();
        assert!(matches!(StateStore::look(&folder).await, Err(OpenStateError::Lost)), "{name}, replaced");
        fs::remove_file(folder.join(name)).unwrap();
        assert!(matches!(StateStore::look(&folder).await, Err(OpenStateError::Lost)), "{name}, gone");
        let _ = state.close().await;
    }
}

#[tokio::test]
async fn the_lock_is_on_the_folder_itself_and_not_on_a_file_in_it() {
    let (_around, folder) = place();
    let state = open_state(&folder).await;
    for name in ["redress.lock", "redress.db", "redress.db-wal", "redress.db-shm"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    assert!(matches!(StateStore::open(StateOptions::new(&folder)).await, Err(OpenStateError::Taken)));
    // By another name it is the same folder.
    let link = folder.with_file_name("link");
    symlink(&folder, &link).unwrap();
    assert!(matches!(StateStore::open(StateOptions::new(&link)).await, Err(OpenStateError::Taken)));
    let _ = state.close().await;
}

#[tokio::test]
async fn who_starts_on_a_folder_that_was_made_anew_is_alone_there() {
    let (_around, folder) = place();
    let first = open_state(&folder).await;
    fs::remove_dir_all(&folder).unwrap();
    let second = open_state(&folder).await;
    until(|| !first.is_open()).await;
    assert!(second.is_open());
    // Nor does the end of the first touch what the second has.
    let _ = first.close().await;
    let registry = service(&second, &Runs::default());
    assert!(call(&registry, "pay.send", &json!({})).await.is_ok());
    second.close().await.unwrap();
    let mut reader = AuditReader::open(&folder).await.unwrap();
    assert_eq!(reader.read(&AuditFilter::new()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_many_that_start_at_once_one_has_the_folder() {
    let (_around, folder) = place();
    let starts = (0..16).map(|_| StateStore::open(StateOptions::new(&folder)));
    let mut opened = Vec::new();
    for started in futures_util::future::join_all(starts).await {
        match started {
            Ok(state) => opened.push(state),
            Err(error) => assert!(matches!(error, OpenStateError::Taken), "{error:?}"),
        }
    }
    assert_eq!(opened.len(), 1);
    opened.pop().unwrap().close().await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_also_another_ones_is_refused() {
    let (around, folder) = place();
    open_state(&folder).await.close().await.unwrap();
    let other = around.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::hard_link(database(&folder), database(&other)).unwrap();
    for place in [&folder, &other] {
        let error = StateStore::open(StateOptions::new(place)).await.unwrap_err();
        let OpenStateError::Folder(cause) = error else { panic!("{error:?}") };
        assert!(cause.to_string().contains("hard link"), "{cause}");
    }
    fs::remove_file(database(&other)).unwrap();
    symlink(database(&folder), database(&other)).unwrap();
    assert!(matches!(StateStore::open(StateOptions::new(&other)).await, Err(OpenStateError::Folder(_))));
    open_state(&folder).await.close().await.unwrap();
}
