//! What is said about a file or folder wherever one is listed.

use std::time::SystemTime;

use cap_std::fs::{FileType, Metadata};
use redress::data;

/// What is at a path.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, socket or device, which cannot be opened here.
    Special,
}

impl EntryKind {
    pub(crate) fn of(kind: FileType) -> EntryKind {
        if kind.is_symlink() {
            EntryKind::Link
        } else if kind.is_dir() {
            EntryKind::Folder
        } else if kind.is_file() {
            EntryKind::File
        } else {
            EntryKind::Special
        }
    }
}

/// When the content was last changed, in milliseconds since 1970, where the file system knows.
pub(crate) fn modified_ms(metadata: &Metadata) -> Option<u64> {
    let since = metadata.modified().ok()?.into_std().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}
