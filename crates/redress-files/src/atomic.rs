//! Writing a file whole or not at all: a temporary file beside it, on the disk, then one rename.

use std::{
    ffi::OsStr,
    io::{self, Write as _},
};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::temporary;

/// How often another process may take our temporary file away before that is an error.
const TRIES: usize = 8;

/// What may be at the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Nothing; `AlreadyExists` otherwise, and the disk decides, not a look before.
    Nothing,
    /// Anything that a file can replace.
    Anything,
}

/// Why a file was not written, or may be lost again.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// Nothing was changed.
    Unchanged(io::Error),
    /// The name holds the new content, and the disk did not confirm that it keeps it.
    Unconfirmed(io::Error),
}

/// Writes `contents` to `name` in `folder`. Whenever it is interrupted, the name holds the
/// old content or the new. It is as open, and where the system lets us belongs to the same user, as what was there `before`. `go` is
/// asked when everything is on the disk but the name.
pub(crate) fn write(
    folder: &Dir,
    name: &OsStr,
    contents: &[u8],
    over: Over,
    before: Option<&Metadata>,
    go: impl Fn() -> io::Result<()>,
) -> Result<(), Unwritten> {
    for _ in 0..TRIES {
        let (temporary, mut file) = create(folder).map_err(Unwritten::Unchanged)?;
        let written = fill(&mut file, contents, before)
            .and_then(|()| go())
            .and_then(|()| rename(folder, &temporary, folder, name, over));
        match written {
            Ok(()) => return sync(folder).map_err(Unwritten::Unconfirmed),
            // A sweeper of another process got hold of it before we had locked it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.exists(&temporary) => {}
            Err(error) => {
                let _ = folder.remove_file(&temporary);
                return Err(Unwritten::Unchanged(error));
            }
        }
    }
    Err(Unwritten::Unchanged(io::Error::other("the temporary file was removed again and again")))
}

fn create(folder: &Dir) -> io::Result<(String, File)> {
    loop {
        let name = temporary::name();
        match folder.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn fill(file: &mut File, contents: &[u8], before: Option<&Metadata>) -> io::Result<()> {
    // Where the file system has no locks, nobody can take the file for a stale one either.
    let _locked = file.try_clone()?.into_std().try_lock();
    file.write_all(contents)?;
    if let Some(before) = before {
        resemble(file, before)?;
    }
    file.sync_all()
}

/// Who may read and write it stays. Bits that let a program run as its owner do not: by them a caller who may write here would put
/// words into the mouth of another user, which is why a system takes them from a file that is written to.
#[cfg(unix)]
fn resemble(file: &File, before: &Metadata) -> io::Result<()> {
    use cap_std::fs::{MetadataExt as _, PermissionsExt as _};
    use rustix::fs::{Gid, Uid, fchown};
    let (user, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
    // Only root may give a file away, and others no more than its group; what is not allowed is left as it is.
    let _ = fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
    let mut permissions = before.permissions();
    permissions.set_mode(permissions.mode() & 0o777);
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn resemble(file: &File, before: &Metadata) -> io::Result<()> {
    file.set_permissions(before.permissions())
}

/// Renames one name to another, both without any path.
pub(crate) fn rename(from: &Dir, old: impl AsRef<OsStr>, to: &Dir, new: &OsStr, over: Over) -> io::Result<()> {
    let old = old.as_ref();
    match over {
        Over::Anything => from.rename(old, to, new),
        Over::Nothing => rename_new(from, old, to, new),
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_new(from: &Dir, old: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // A file system that cannot do it says so in one of these ways.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {
            look_then_rename(from, old, to, new)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_new(from: &Dir, old: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
    look_then_rename(from, old, to, new)
}

fn look_then_rename(from: &Dir, old: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
    match to.symlink_metadata(new) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => from.rename(old, to, new),
        Err(error) => Err(error),
    }
}

/// Puts the names of `folder` on the disk, so that a power cut does not undo a rename.
pub(crate) fn sync(folder: &Dir) -> io::Result<()> {
    if cfg!(unix) { folder.open(".")?.sync_all() } else { Ok(()) }
}
