//! The folder: private, of one service at a time, and brought into shape.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redress_state::{OpenStateError, StateOptions, StateStore};

use crate::service::{Runs, call, open_state, other, service};

#[cfg(unix)]
#[tokio::test]
async fn nobody_but_the_owner_can_read_the_state() {
    use std::os::unix::fs::PermissionsExt as _;
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("deep/state");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let state = open_state(&folder).await;
    call(&service(&state, &Runs::default()), "pay.send", &serde_json::json!({})).await;
    assert_eq!(mode(&folder), 0o700);
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(names.iter().any(|path| path.ends_with("redress.db-wal")), "{names:?}");
    for path in names {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    state.close().await.unwrap();
    // Rights that somebody has widened are narrowed again.
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(folder.join("redress.db"), std::fs::Permissions::from_mode(0o644)).unwrap();
    open_state(&folder).await.close().await.unwrap();
    assert_eq!((mode(&folder), mode(&folder.join("redress.db"))), (0o700, 0o600));
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_others_use_is_refused_and_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let set = |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    let mode = || std::fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777;
    std::fs::write(folder.path().join("website.html"), "somebody reads this").unwrap();
    set(0o755);
    let error = StateStore::open(StateOptions::new(folder.path())).await.unwrap_err();
    let OpenStateError::Folder(cause) = error else { panic!("{error:?}") };
    assert!(cause.to_string().contains("a folder of its own"), "{cause}");
    assert_eq!(mode(), 0o755);
    // One with nothing in it is as good as one that is made.
    std::fs::remove_file(folder.path().join("website.html")).unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    assert_eq!(mode(), 0o700);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_only_looks_at_a_folder_stops_no_service_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    let (over, path) = (Arc::new(AtomicBool::new(false)), folder.path().to_owned());
    let looking = {
        let over = Arc::clone(&over);
        let locks = move || {
            while !over.load(Ordering::Acquire) {
                // What a look does, and for longer.
                let folder = std::fs::File::open(&path).unwrap();
                if folder.try_lock_shared().is_ok() {
                    std::thread::sleep(Duration::from_millis(3));
                }
                drop(folder);
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        tokio::task::spawn_blocking(locks)
    };
    for _ in 0..20 {
        open_state(folder.path()).await.close().await.unwrap();
    }
    over.store(true, Ordering::Release);
    looking.await.unwrap();
}

#[tokio::test]
async fn two_services_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let first = open_state(folder.path()).await;
    let error = StateStore::open(StateOptions::new(folder.path())).await.unwrap_err();
    assert!(matches!(error, OpenStateError::Taken), "{error}");
    assert!(error.to_string().contains("another service"));
    assert!(matches!(StateStore::look(folder.path()).await, Err(OpenStateError::Taken)));
    first.close().await.unwrap();
    StateStore::look(folder.path()).await.unwrap();
    open_state(folder.path()).await.close().await.unwrap();
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let error = StateStore::open(StateOptions::new(file.join("state"))).await.unwrap_err();
    assert!(matches!(error, OpenStateError::Folder(_)), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redress.db");
    std::fs::write(&file, "this is no database, but it is somebody's".repeat(100)).unwrap();
    assert!(matches!(StateStore::look(folder.path()).await, Err(OpenStateError::File(_))));
    assert!(StateStore::open(StateOptions::new(folder.path())).await.is_err());
    assert!(std::fs::read_to_string(file).unwrap().starts_with("this is no database"));
}

#[tokio::test]
async fn a_file_of_a_newer_service_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    let mut newer = other(folder.path()).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (999, 'of the future', 1, x'00', 0)",
    )
    .execute(&mut newer)
    .await
    .unwrap();
    drop(newer);
    assert!(matches!(StateStore::look(folder.path()).await, Err(OpenStateError::Shape(_))));
    let error = StateStore::open(StateOptions::new(folder.path())).await.unwrap_err();
    assert!(matches!(error, OpenStateError::Shape(_)), "{error:?}");
}

#[tokio::test]
async fn a_look_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    StateStore::look(folder.path()).await.unwrap();
    StateStore::look(folder.path().join("state")).await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_state_that_is_closed_takes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let state = open_state(folder.path()).await;
    let (registry, runs) = (service(&state, &Runs::default()), Runs::default());
    assert!(registry.is_ready());
    state.close().await.unwrap();
    state.close().await.unwrap();
    assert!(!registry.is_ready() && !state.is_open());
    assert_eq!(call(&registry, "pay.send", &serde_json::json!({})).await.code(), Some("OVERLOADED"));
    assert_eq!(runs.get(), 0);
}
