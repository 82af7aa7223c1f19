//! Whether the files that are open are still those in the folder.
//!
//! SQLite goes on writing to a file that was removed, and nothing fails until the process has ended and all is gone.
//!
//! Why so: docs/decisions/0046-the-folder-is-locked-and-watched.md.

use std::{
    fmt,
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::task::JoinHandle;

use crate::{folder::DATABASE, shared::StateInner};

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(250);

/// What tells one file from another, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    #[cfg(unix)]
    inode: (u64, u64),
}

impl FileIdentity {
    pub(crate) fn of(file: &Metadata) -> FileIdentity {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            FileIdentity { inode: (file.dev(), file.ino()) }
        }
        #[cfg(not(unix))]
        {
            let _ = file;
            FileIdentity {}
        }
    }
}

impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(unix)]
        write!(f, "{} {}", self.inode.0, self.inode.1)?;
        #[cfg(not(unix))]
        let _ = f;
        Ok(())
    }
}

/// Why a state is not whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Lost {
    #[error("the state folder is gone")]
    FolderGone,
    #[error("another folder is in the place of the state folder")]
    FolderReplaced,
    #[error("`{0}` is gone from the state folder")]
    Gone(String),
    #[error("`{0}` in the state folder is another file than the one that is open")]
    Replaced(String),
    #[error("`{0}` in the state folder was cut short")]
    Cut(String),
    #[error("the state folder was made read-only")]
    ReadOnly,
    #[error("the state folder cannot be looked at: {0}")]
    Unseen(io::ErrorKind),
    #[error("looking at the state folder takes too long")]
    Hangs,
}

/// The files as they were when the state was opened.
#[derive(Clone, Debug)]
pub(crate) struct StateFiles {
    folder: (PathBuf, FileIdentity),
    /// The database, its log and the index of that.
    files: Vec<(String, FileIdentity)>,
    /// The least length of the database: nothing that writes here makes it shorter.
    length: u64,
}

impl StateFiles {
    /// The files in `folder`, once SQLite has opened them.
    pub(crate) fn in_folder(folder: &Path) -> io::Result<StateFiles> {
        let mut files = Vec::new();
        for name in [DATABASE.to_owned(), format!("{DATABASE}-wal"), format!("{DATABASE}-shm")] {
            match fs::symlink_metadata(folder.join(&name)) {
                Ok(file) => files.push((name, FileIdentity::of(&file))),
                // A file system on which SQLite keeps no log beside the file has none.
                Err(error) if error.kind() == io::ErrorKind::NotFound && name != DATABASE => {}
                Err(error) => return Err(error),
            }
        }
        let length = fs::metadata(folder.join(DATABASE))?.len();
        Ok(StateFiles { folder: (folder.to_owned(), FileIdentity::of(&fs::metadata(folder)?)), files, length })
    }

    /// What each of them is told apart by.
    pub(crate) fn all(&self) -> &[(String, FileIdentity)] {
        &self.files
    }

    /// Whether all of them are still where they were.
    fn look(&mut self) -> Result<(), Lost> {
        let unseen = |error: &io::Error| Lost::Unseen(error.kind());
        let missing =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let (path, identity) = &self.folder;
        match fs::metadata(path) {
            Ok(folder) if FileIdentity::of(&folder) == *identity => {}
            Ok(_) => return Err(Lost::FolderReplaced),
            Err(error) if missing(&error) => return Err(Lost::FolderGone),
            Err(error) => return Err(unseen(&error)),
        }
        for (name, identity) in &self.files {
            match fs::symlink_metadata(path.join(name)) {
                Ok(file) if FileIdentity::of(&file) != *identity => return Err(Lost::Replaced(name.clone())),
                Ok(file) if name == DATABASE && file.len() < self.length => return Err(Lost::Cut(name.clone())),
                Ok(file) if name == DATABASE => self.length = file.len(),
                Ok(_) => {}
                Err(error) if missing(&error) => return Err(Lost::Gone(name.clone())),
                Err(error) => return Err(unseen(&error)),
            }
        }
        if is_read_only(path) { Err(Lost::ReadOnly) } else { Ok(()) }
    }
}

#[cfg(unix)]
fn is_read_only(folder: &Path) -> bool {
    use rustix::fs::StatVfsMountFlags;
    rustix::fs::statvfs(folder).is_ok_and(|volume| volume.f_flag.contains(StatVfsMountFlags::RDONLY))
}

#[cfg(not(unix))]
fn is_read_only(_: &Path) -> bool {
    false
}

/// Looks every quarter of a second, for as long as the state is there. A look that hangs is one that finds nothing.
pub(crate) async fn watch(shared: Weak<StateInner>, mut files: StateFiles) {
    let mut told: Option<Lost> = None;
    loop {
        tokio::time::sleep(EVERY).await;
        let mut look: JoinHandle<(StateFiles, Result<(), Lost>)> = tokio::task::spawn_blocking(move || {
            let found = files.look();
            (files, found)
        });
        let patience = match shared.upgrade() {
            Some(shared) if !shared.queue.is_closed() => shared.options.patience,
            Some(_) | None => return,
        };
        let looked = match tokio::time::timeout(patience, &mut look).await {
            Ok(looked) => looked,
            Err(_) => {
                if let Some(shared) = shared.upgrade() {
                    tell(&shared, &mut told, Err(Lost::Hangs));
                }
                look.await
            }
        };
        let Ok((back, found)) = looked else { return };
        files = back;
        let Some(shared) = shared.upgrade() else { return };
        tell(&shared, &mut told, found);
    }
}

/// Closes or opens the state, and says so once.
fn tell(shared: &Arc<StateInner>, told: &mut Option<Lost>, found: Result<(), Lost>) {
    let found = found.err();
    if found == *told {
        return;
    }
    match &found {
        Some(lost) => {
            tracing::error!(
                reason = %lost,
                "the state is lost: calls that have to be kept are refused until it is back where it was, or the service is restarted",
            );
        }
        None => tracing::info!("the state is back where it was"),
    }
    shared.queue.set_lost(found.is_some());
    *told = found;
}
