//! The one handle that everything goes through, and what can go wrong at it.
//!
//! `cap-std` resolves each name from the handle, beneath it, and refuses what would leave;
//! there is no check that a race could get in front of. Nothing here opens or joins paths of the host.

use std::{
    collections::{BTreeMap, HashSet},
    io,
    path::{Component, Path},
    sync::Arc,
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};
use parking_lot::{Mutex, MutexGuard};
use redress::{Caller, Ctx, Fail, Failure, Outcome};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    failures::{
        FileFailure, FolderFailure, Invalid, LookupFailure, NotFolderFailure, Outside, PathFailure, StorageFailure,
    },
    slots::Slot,
    temporary,
    wire_path::WirePath,
};

/// How many folders are remembered as swept; past that they are swept again.
const SWEPT: usize = 10_000;

/// An open folder.
pub(crate) struct Sandbox {
    dir: Dir,
    /// How the folder itself is written on this machine, as it was named and with all links followed. A caller's path
    /// may begin with it; nothing is opened by it, and it is in no answer.
    roots: Vec<String>,
    /// Held while something is changed, so that what was checked still holds when it is done.
    changing: Mutex<()>,
    /// The folders in which this process has removed what crashed ones left.
    swept: Mutex<HashSet<String>>,
}

impl Sandbox {
    pub(crate) fn open(root: &Path) -> io::Result<Sandbox> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())?;
        Ok(Sandbox { dir, roots: roots(root), changing: Mutex::default(), swept: Mutex::default() })
    }

    /// The handle of the folder.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Reads a path as a caller wrote it.
    pub(crate) fn path(&self, text: &str) -> Result<WirePath, PathFailure> {
        WirePath::parse_below(text, &self.roots)
    }

    /// Waits for its turn to change something.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }

    /// Removes what crashed writers left in `folder`, the first time that this process writes there.
    pub(crate) fn sweep(&self, path: &Path, folder: &Dir) {
        let mut swept = self.swept.lock();
        if swept.len() >= SWEPT {
            swept.clear();
        }
        if swept.insert(path.to_string_lossy().into_owned()) {
            drop(swept);
            temporary::sweep(folder);
        }
    }

    /// Opens a regular file for reading. A pipe or a device is refused without waiting for it.
    pub(crate) fn open_file<E: Failure>(&self, path: &WirePath) -> Outcome<(File, Metadata), E> {
        let metadata = self.dir.metadata(path.as_path()).map_err(|error| self.refused(error, path))?;
        if !metadata.is_file() {
            return Err(FileFailure::of(path, metadata.is_dir()))?;
        }
        let file = self.dir.open_with(path.as_path(), &reading()).map_err(|error| self.refused(error, path))?;
        // What is open is what counts: the name may mean something else by now.
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(FileFailure::of(path, metadata.is_dir()))?;
        }
        Ok((file, metadata))
    }

    /// Opens a folder.
    pub(crate) fn open_folder<E: Failure>(&self, path: &WirePath) -> Outcome<Dir, E> {
        self.dir.open_dir(path.as_path()).map_err(|error| {
            let name = || path.as_str().to_owned();
            if error.kind() == io::ErrorKind::NotFound {
                FolderFailure::FolderNotFound { path: name() }.into()
            } else if error.kind() == io::ErrorKind::NotADirectory {
                let fail = Fail::from(NotFolderFailure::NotAFolder { path: name() });
                // What is below a file is nothing that could be looked at.
                let there = self.dir.symlink_metadata(path.as_path()).is_ok();
                let input = BTreeMap::from([("path", name())]);
                if there { fail.with_next_action("files.stat", &input, "see what it is") } else { fail }
            } else {
                denied(error, path)
            }
        })
    }

    /// What a failed access to `path` means, where something has to be there.
    pub(crate) fn refused<E: Failure>(&self, error: io::Error, path: &WirePath) -> Fail<E> {
        if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            self.missing(path)
        } else {
            denied(error, path)
        }
    }

    /// That nothing is at `path`. What is near to it, [`near`](crate::near) says.
    pub(crate) fn missing<E: Failure>(&self, path: &WirePath) -> Fail<E> {
        let folder = self.nearest_folder(path).as_str().to_owned();
        LookupFailure::FileNotFound { path: path.as_str().to_owned(), folder }.into()
    }

    /// The nearest folder above `path` that exists.
    pub(crate) fn nearest_folder(&self, path: &WirePath) -> WirePath {
        let mut folder = path.folder();
        while !folder.is_top() && !self.dir.is_dir(folder.as_path()) {
            folder = folder.folder();
        }
        folder
    }
}

/// The ways in which a folder is written on this machine. What is no text, or has `..` in it, nobody has to write.
fn roots(root: &Path) -> Vec<String> {
    let mut roots = Vec::new();
    for path in [std::path::absolute(root), std::fs::canonicalize(root)].into_iter().flatten() {
        let up = path.components().any(|part| part == Component::ParentDir);
        match path.to_str().map(|text| text.trim_end_matches('/')) {
            Some(text) if path.starts_with("/") && !up && roots.iter().all(|known| known != text) => {
                roots.push(text.to_owned());
            }
            Some(_) | None => {}
        }
    }
    roots
}

/// How a file is opened for reading: a pipe without a writer must not hold us up.
pub(crate) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    options
}

/// The same, for a name that must not be a link.
pub(crate) fn reading_no_link() -> OpenOptions {
    let mut options = reading();
    options.follow(FollowSymlinks::No);
    options
}

/// What a failed access means, wherever it happened.
pub(crate) fn denied<E: Failure>(error: io::Error, path: &WirePath) -> Fail<E> {
    let kind = error.kind();
    if leads_out(&error) {
        PathFailure::outside(Outside::Link).into()
    } else if kind == io::ErrorKind::PermissionDenied {
        PathFailure::FilePermissionDenied { path: path.as_str().to_owned() }.into()
    } else if is_link_loop(&error) {
        PathFailure::invalid(Invalid::LinkLoop).into()
    } else if kind == io::ErrorKind::InvalidFilename {
        PathFailure::invalid(Invalid::TooLong).into()
    } else if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge) {
        StorageFailure::StorageFull.into()
    } else if kind == io::ErrorKind::ReadOnlyFilesystem {
        StorageFailure::StorageReadOnly.into()
    } else {
        Fail::contain(error)
    }
}

/// Whether the folder handle refused to leave the folder.
pub(crate) fn leads_out(error: &io::Error) -> bool {
    // `cap-std` makes these; the operating system's own refusals carry their number.
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Links that lead in a circle. `std` has a kind for it that is not stable.
fn is_link_loop(error: &io::Error) -> bool {
    if cfg!(target_os = "linux") { error.raw_os_error() == Some(40) } else { error.raw_os_error() == Some(62) }
}

/// Runs file work where it may block.
pub(crate) async fn blocking<T, E>(
    ctx: &Ctx,
    files: &Files,
    work: impl FnOnce(&Sandbox, &CancellationToken) -> Outcome<T, E> + Send + 'static,
) -> Outcome<T, E>
where
    T: Send + 'static,
    E: Failure,
{
    let sandbox = Arc::clone(&files.sandbox);
    let stop = ctx.cancellation().clone();
    let slot = slot(ctx, files).await;
    tokio::task::spawn_blocking(move || {
        let _slot = slot;
        // It may have waited for its thread longer than its caller has for it.
        unless_cancelled(&stop)?;
        work(&sandbox, &stop)
    })
    .await?
}

/// Waits until the caller may run one more piece of file work.
pub(crate) async fn slot(ctx: &Ctx, files: &Files) -> Slot {
    files.slots.take(caller_id(ctx)).await
}

/// Who has to share what there is for one caller; those without a name share it together.
pub(crate) fn caller_id(ctx: &Ctx) -> &str {
    ctx.caller().map(Caller::id).unwrap_or_default()
}

/// Ends file work whose caller has gone.
pub(crate) fn unless_cancelled<E: Failure>(stop: &CancellationToken) -> Outcome<(), E> {
    if stop.is_cancelled() { Err(Fail::contain("the caller has gone")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use redress::testing::assert_failure;

    use super::*;
    use crate::write::WriteFailure;

    fn meant(error: io::Error) -> Outcome<(), WriteFailure> {
        Err(denied(error, &WirePath::parse("a/b").unwrap()))
    }

    #[test]
    fn each_error_of_the_disk_has_its_own_code() {
        assert_failure!(meant(io::Error::from(io::ErrorKind::StorageFull)), STORAGE_FULL);
        assert_failure!(meant(io::Error::from(io::ErrorKind::QuotaExceeded)), STORAGE_FULL);
        assert_failure!(meant(io::Error::from(io::ErrorKind::ReadOnlyFilesystem)), STORAGE_READ_ONLY);
        assert_failure!(meant(io::Error::from_raw_os_error(13)), FILE_PERMISSION_DENIED);
        assert_failure!(meant(io::Error::new(io::ErrorKind::PermissionDenied, "it led outside")), PATH_OUTSIDE);
        let contained = meant(io::Error::other("anything else")).unwrap_err();
        assert!(contained.code().is_none());
    }
}
