//! Files that an operator names, read and appended to within bounds: of which *kind*, how *large*, and for how *long*.
//!
//! A pipe, a device or a disk that hangs in the place of a file would stop whoever reads it, and with it whatever that one
//! was to do next. Here a file is opened without waiting, must be a regular one, has a largest size, and is waited for no
//! longer than five seconds.
//!
//! Why so: docs/decisions/0047-files-are-read-within-bounds.md.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("tokens.json");
//! std::fs::write(&path, "{}").unwrap();
//! assert_eq!(redress_disk::read(&path, 1024).unwrap(), b"{}");
//! assert!(redress_disk::read(&path, 1).unwrap_err().to_string().contains("larger"));
//! assert!(redress_disk::read("/dev/zero", 1024).unwrap_err().to_string().contains("regular file"));
//! ```
//!
//! **Invariant:** this crate knows no content: what is in a file is for whoever asked for it.

mod append;
mod kind;
mod patience;
mod read;

pub use append::append;
pub use kind::is_same_file;
pub use read::{metadata, read, read_once, take};
