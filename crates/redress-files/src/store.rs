//! Where a file that is written will be: its folder by handle, and its name there.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, Metadata};
use redress::{Fail, Failure, Outcome};

use crate::{
    failures::{FileFailure, Invalid, NotFolderFailure, PathFailure},
    sandbox::{Sandbox, denied},
    wire_path::WirePath,
};

/// Where a file will be. Its name is one name, so nothing is resolved after this.
pub(crate) struct TargetPath {
    pub(crate) folder: Dir,
    pub(crate) name: OsString,
    /// The file that is there.
    pub(crate) existing: Option<Metadata>,
}

/// Finds the place of `path`. Links in the folder are followed, so that a linked file is
/// written where it lies; one that leads out is refused. What is said of a folder that is not there, and is not to be
/// made, `no_folder` knows.
pub(crate) fn place<E: Failure>(
    sandbox: &Sandbox,
    path: &WirePath,
    make_folders: bool,
    no_folder: impl FnOnce(WirePath) -> Fail<E>,
) -> Outcome<TargetPath, E> {
    if path.is_top() {
        return Err(PathFailure::invalid(Invalid::Top).into());
    }
    let (parent, name) = match sandbox.dir().canonicalize(path.as_path()) {
        Ok(real) => match (real.parent(), real.file_name()) {
            (Some(parent), Some(name)) => (parent.to_owned(), name.to_owned()),
            // A link to the folder itself.
            _ => return Err(FileFailure::of(path, true))?,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (path.folder().as_path().to_owned(), OsString::from(path.name()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(no_such(&path.folder()))?;
        }
        Err(error) => return Err(denied(error, path)),
    };
    let parent = if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent };
    let folder = match open_or_make(sandbox, &parent, make_folders) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !make_folders => return Err(no_folder(path.folder())),
        // A link to nothing is in the place of one that was to be made.
        Err(error) if is_no_folder(&error) => return Err(no_such(&path.folder()))?,
        Err(error) => return Err(denied(error, &path.folder())),
    };
    sandbox.sweep(&parent, &folder);
    let existing = match folder.symlink_metadata(&name) {
        Ok(metadata) if metadata.is_file() => Some(metadata),
        // A link to nothing in the folder; it is as good as no file.
        Ok(metadata) if metadata.is_symlink() => None,
        Ok(metadata) => return Err(FileFailure::of(path, metadata.is_dir()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(denied(error, path)),
    };
    Ok(TargetPath { folder, name, existing })
}

fn no_such(folder: &WirePath) -> NotFolderFailure {
    NotFolderFailure::NotAFolder { path: folder.as_str().to_owned() }
}

/// Whether a folder's own failures say what is wrong, with the path as the caller wrote it.
fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists)
}

/// Opens a folder, and makes it only where it is missing.
pub(crate) fn open_or_make(sandbox: &Sandbox, folder: &Path, make: bool) -> io::Result<Dir> {
    let dir = sandbox.dir();
    match dir.open_dir(folder) {
        Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
            dir.create_dir_all(folder)?;
            dir.open_dir(folder)
        }
        opened => opened,
    }
}
