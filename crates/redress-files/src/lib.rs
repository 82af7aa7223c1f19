//! What one sandboxed folder can be asked: the operations `files.*`.
//!
//! Why so: docs/decisions/0012-a-room-for-the-folder.md.
//!
//! ```
//! use redress::{Caller, Registry, Request};
//! use redress_files::Files;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # std::fs::write(root.join("notes.md"), "Say how it fails.\n")?;
//! let files = Files::open(root)?;
//! let registry = files.add_to(Registry::builder()).build()?;
//!
//! let ada = || Caller::new("ada").scope("files:read");
//! let read = |input: &'static str| registry.call("files.read", Request::new(input.as_bytes()).with_caller(ada()));
//! assert!(read(r#"{"path":"notes.md"}"#).await.is_ok());
//! assert_eq!(read(r#"{"path":"note.md"}"#).await.code(), Some("FILE_NOT_FOUND"));
//! assert_eq!(read(r#"{"path":"../notes.md"}"#).await.code(), Some("PATH_OUTSIDE"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! | to… | operation | scopes |
//! |---|---|---|
//! | look | `files.list`, `files.stat`, `files.read` | `files:read` |
//! | find | `files.search`, and `files.search_stream` for matches as they come | `files:read` |
//! | follow changes | `files.watch` | `files:read` |
//! | change, where [`FilesOptions::write`] says so | `files.write`, `files.edit`, `files.move`, `files.remove` | `files:read files:write` |
//! | find out whether a change took place, where there are changes | `files.check` | `files:read` |
//!
//! **Invariant:** every access goes through one open folder handle and never through a path of the
//! host, and what is not in the folder does not exist here. How the folder itself is written on the host is
//! kept for one thing, to recognise it at the front of a caller's path, and is never sent.

mod atomic;
mod check;
mod differs;
mod edit;
mod entry;
mod failures;
mod files;
mod ignored;
mod list;
mod near;
mod pattern;
mod read;
mod relocate;
mod remove;
mod sandbox;
mod search;
mod search_stream;
mod searching;
mod seen;
mod slots;
mod stat;
mod store;
mod temporary;
mod walk;
mod watch;
mod watchers;
mod watching;
mod window;
mod wire_path;
mod write;

pub use files::{Files, FilesOptions, OpenError};
