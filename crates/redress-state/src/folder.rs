//! The folder: private to its owner, and of one service at a time.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::Path,
};

/// The file that holds everything.
pub(crate) const DATABASE: &str = "redress.db";
/// The file that a running service holds a lock on.
const LOCK: &str = "redress.lock";

/// Why a folder cannot be taken.
#[derive(Debug)]
pub(crate) enum Untaken {
    Io(io::Error),
    /// Another service has it.
    Taken,
}

impl From<io::Error> for Untaken {
    fn from(error: io::Error) -> Untaken {
        Untaken::Io(error)
    }
}

/// Makes the folder if need be and takes it for as long as the file lives. The lock goes with the process, however
/// that dies.
pub(crate) fn take(folder: &Path) -> Result<File, Untaken> {
    make_private(folder)?;
    let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(folder.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Untaken::Taken),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    // SQLite makes its other files with the rights of this one.
    private(OpenOptions::new().create(true).truncate(false).write(true)).open(folder.join(DATABASE))?;
    Ok(lock)
}

/// Whether there is a state in the folder, which nobody has taken.
pub(crate) fn look(folder: &Path) -> Result<bool, Untaken> {
    match fs::metadata(folder.join(DATABASE)) {
        Ok(file) if file.len() > 0 => {}
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    match OpenOptions::new().write(true).open(folder.join(LOCK)) {
        Ok(lock) => match lock.try_lock_shared() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Err(Untaken::Taken),
            Err(TryLockError::Error(error)) => Err(error.into()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    if !folder.exists() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // To narrow a folder that others use would break them.
    if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
        if !is_ours(folder)? {
            let others = "others may read this folder, and it holds other things: give the state a folder of its own";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, others));
        }
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    for name in [DATABASE.to_owned(), format!("{DATABASE}-wal"), format!("{DATABASE}-shm"), LOCK.to_owned()] {
        match fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Whether a folder is empty or holds a state.
#[cfg(unix)]
fn is_ours(folder: &Path) -> io::Result<bool> {
    Ok(folder.join(DATABASE).exists() || fs::read_dir(folder)?.next().is_none())
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}
