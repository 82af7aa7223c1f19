//! The one handle that everything goes through, and what can go wrong at it.
//!
//! `cap-std` resolves each name from the handle, beneath it, and refuses what would leave;
//! there is no check that a race could get in front of. Nothing here joins paths of the host.

use std::{
    collections::HashSet,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};
use redress::{Caller, Ctx, Fail, Failure, Outcome};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    failures::{FileFailure, FolderFailure, Invalid, LookupFailure, Outside, PathFailure, StorageFailure},
    slots::Slot,
    temporary,
    wire_path::WirePath,
};

/// How many names of a folder are looked at to find one that is near a missing one.
const CANDIDATES: usize = 4_096;
/// How many folders are remembered as swept; past that they are swept again.
const SWEPT: usize = 10_000;

/// An open folder.
pub(crate) struct Sandbox {
    dir: Dir,
    /// Held while something is changed, so that what was checked still holds when it is done.
    changing: Mutex<()>,
    /// The folders in which this process has removed what crashed ones left.
    swept: Mutex<HashSet<String>>,
}

impl Sandbox {
    pub(crate) fn open(root: &Path) -> io::Result<Sandbox> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())?;
        Ok(Sandbox { dir, changing: Mutex::default(), swept: Mutex::default() })
    }

    /// The handle of the folder.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Waits for its turn to change something.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what crashed writers left in `folder`, the first time that this process writes there.
    pub(crate) fn sweep(&self, path: &Path, folder: &Dir) {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
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
            return Err(FileFailure::NotAFile { path: path.as_str().to_owned() })?;
        }
        let file = self.dir.open_with(path.as_path(), &reading()).map_err(|error| self.refused(error, path))?;
        // What is open is what counts: the name may mean something else by now.
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(FileFailure::NotAFile { path: path.as_str().to_owned() })?;
        }
        Ok((file, metadata))
    }

    /// Opens a folder.
    pub(crate) fn open_folder<E: Failure>(&self, path: &WirePath) -> Outcome<Dir, E> {
        self.dir.open_dir(path.as_path()).map_err(|error| {
            let missing = error.kind() == io::ErrorKind::NotFound;
            let name = path.as_str().to_owned();
            if missing {
                Fail::from(FolderFailure::FolderNotFound { path: name })
                    .with_similar(path.as_str(), self.folders_near(path))
            } else if error.kind() == io::ErrorKind::NotADirectory {
                FolderFailure::NotAFolder { path: name }.into()
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

    /// That nothing is at `path`, with the names near it.
    pub(crate) fn missing<E: Failure>(&self, path: &WirePath) -> Fail<E> {
        let mut wanted = path.clone();
        while !wanted.folder().is_top() && !self.dir.is_dir(wanted.folder().as_path()) {
            wanted = wanted.folder();
        }
        let folder = wanted.folder();
        let near = self.names_in(&folder, |_| true);
        let failure =
            LookupFailure::FileNotFound { path: path.as_str().to_owned(), folder: folder.as_str().to_owned() };
        Fail::from(failure).with_similar(wanted.as_str(), near)
    }

    fn folders_near(&self, path: &WirePath) -> Vec<String> {
        self.names_in(&path.folder(), |is_folder| is_folder)
    }

    fn names_in(&self, folder: &WirePath, wanted: impl Fn(bool) -> bool) -> Vec<String> {
        let Ok(entries) = self.dir.read_dir(folder.as_path()) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .take(CANDIDATES)
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let path = folder.child(entry.file_name().to_str()?)?;
                wanted(entry.file_type().is_ok_and(|kind| kind.is_dir())).then(|| path.as_str().to_owned())
            })
            .collect();
        names.sort_unstable();
        names
    }
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
