//! The code of `docs/failures.md`.

use std::io;

use redress::{
    Failure, Outcome, Registry, Request, data, operation,
    testing::{Harness, assert_failure},
};
use serde_json::json;

#[derive(Debug, Failure)]
enum StoreFailure {
    /// The store is closed.
    #[failure(kind = unavailable, recover(wait, hint = "Wait until the store is open again."))]
    StoreClosed,
}

#[derive(Debug, Failure)]
#[failure(include(StoreFailure))]
enum ReadFailure {
    /// The file does not exist.
    #[failure(kind = not_found, message = "no file at {path}", effect = none,
              recover(call = "files.list", bind(path = folder), hint = "List the folder and pick a path that exists."))]
    FileNotFound {
        path: String,
        folder: String,
        #[failure(private)]
        os_error: i32,
    },
    /// The disk is busy.
    #[failure(kind = unavailable, retry_after = wait_ms, effect = unknown, recover(wait, hint = "Wait, then read it again."))]
    DiskBusy {
        wait_ms: u64,
        #[source]
        cause: io::Error,
    },
}

#[data]
struct Path {
    path: String,
}

/// List a folder.
#[operation(query, name = "files.list", access(anyone))]
async fn list(input: Path) -> Outcome<Vec<String>> {
    Ok(vec![input.path])
}

/// Read a file.
#[operation(query, name = "files.read", access(anyone))]
async fn read(input: Path) -> Outcome<String, ReadFailure> {
    match input.path.as_str() {
        "closed" => Err(StoreFailure::StoreClosed)?,
        "busy" => Err(ReadFailure::DiskBusy { wait_ms: 50, cause: io::Error::other("busy") })?,
        path => Err(ReadFailure::FileNotFound { path: path.to_owned(), folder: ".".to_owned(), os_error: 2 })?,
    }
}

fn registry() -> Registry {
    Registry::builder().add(list).add(read).build().unwrap()
}

#[tokio::test]
async fn each_failure_of_the_guide_is_what_the_guide_says() {
    let anyone = Harness::new(registry());
    let missing = anyone.call("files.read", json!({"path": "b.md"})).await;
    let problem = assert_failure!(missing, FILE_NOT_FOUND);
    assert_eq!(problem.next_actions[0].operation.as_str(), "files.list");
    assert_eq!(missing.details(), json!({"path": "b.md", "folder": "."}));
    assert_failure!(anyone.call("files.read", json!({"path": "closed"})).await, STORE_CLOSED);
    let busy = anyone.call("files.read", json!({"path": "busy"})).await;
    assert_eq!(assert_failure!(busy, DISK_BUSY).retry_after_ms, Some(50));
}

/// A failure of an enum that only includes others, and a helper that returns an outcome of its own.
#[derive(Debug, Failure)]
#[failure(include(StoreFailure, ReadFailure))]
enum OpenFailure {}

fn helper() -> Outcome<u32, StoreFailure> {
    Err(StoreFailure::StoreClosed.into())
}

/// Open the store.
#[operation(mutation, name = "files.open", access(anyone))]
async fn open() -> Outcome<u32, OpenFailure> {
    let opened = helper().map_err(redress::Fail::widen)?;
    Ok(opened)
}

#[tokio::test]
async fn a_helper_hands_on_what_is_included() {
    let registry = Registry::builder().add(list).add(open).build().unwrap();
    let envelope = registry.call("files.open", Request::default()).await;
    assert_eq!(envelope.code(), Some("STORE_CLOSED"));
}
