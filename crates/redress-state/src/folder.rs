//! The folder: private to its owner, and of one service at a time.
//!
//! Why so: docs/decisions/0046-the-folder-is-locked-and-watched.md.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::Path,
    time::Duration,
};

use crate::file_identity::FileIdentity;

/// The file that holds everything.
pub(crate) const DATABASE: &str = "redress.db";
/// The file that tells which file a running service has open. It is locked too: services of before held this lock alone.
const LOCK: &str = "redress.lock";
/// How often a folder is opened anew that was exchanged between its opening and its lock.
const ATTEMPTS: usize = 8;
/// The most bytes of the lock file that are looked at.
const LONGEST_NOTE: u64 = 1024;
/// How often, and after which pauses, a lock is tried that somebody holds who only looks.
const LOOKED_AT: (u32, Duration) = (200, Duration::from_millis(5));

/// Why a folder cannot be taken.
#[derive(Debug)]
pub(crate) enum NotLocked {
    Io(io::Error),
    /// Another service has it.
    Taken,
}

impl From<io::Error> for NotLocked {
    fn from(error: io::Error) -> NotLocked {
        NotLocked::Io(error)
    }
}

/// A folder that is taken, for as long as this lives. The locks go with the process, however that dies.
#[derive(Debug)]
pub(crate) struct FolderLock {
    /// The folder itself: a lock on a file in it would be gone with the file.
    _folder: Option<File>,
    lock: File,
}

/// Makes the folder if need be and takes it.
pub(crate) fn take(folder: &Path) -> Result<FolderLock, NotLocked> {
    let handle = lock_folder(folder, make_private)?;
    let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(folder.join(LOCK))?;
    lock_alone(&lock)?;
    // SQLite makes its other files with the rights of this one.
    private(OpenOptions::new().create(true).truncate(false).write(true)).open(folder.join(DATABASE))?;
    Ok(FolderLock { _folder: handle, lock })
}

/// The locks of a folder, held by somebody who runs no service on it.
#[derive(Debug)]
pub(crate) struct Borrowed {
    _locks: [Option<File>; 2],
}

/// Takes the folder of a state as it is. Nothing is made in it: a person may be another user than the service, which
/// could not open a file of theirs.
pub(crate) fn borrow(folder: &Path) -> Result<Borrowed, NotLocked> {
    let handle = lock_folder(folder, |_| Ok(()))?;
    // Where a folder cannot be locked, the file is all that there is.
    let lock = OpenOptions::new().create(handle.is_none()).truncate(false).write(true).open(folder.join(LOCK));
    let lock = there(lock)?;
    if let Some(lock) = &lock {
        lock_alone(lock)?;
    }
    Ok(Borrowed { _locks: [handle, lock] })
}

/// Locks the folder itself, once it is prepared.
fn lock_folder(folder: &Path, prepare: impl Fn(&Path) -> io::Result<()>) -> Result<Option<File>, NotLocked> {
    let mut attempts = 0;
    let handle = loop {
        prepare(folder)?;
        let handle = open_folder(folder)?;
        if let Some(handle) = &handle {
            lock_alone(handle)?;
            // Somebody may have put another folder in its place since it was opened, and then the lock is on the old one.
            if FileIdentity::of(&handle.metadata()?) != FileIdentity::of(&fs::metadata(folder)?) {
                attempts += 1;
                if attempts < ATTEMPTS {
                    continue;
                }
                return Err(io::Error::other("the folder is exchanged again and again").into());
            }
        }
        break handle;
    };
    alone(folder, LOCK)?;
    alone(folder, DATABASE)?;
    Ok(handle)
}

impl FolderLock {
    /// Notes which files are open, so that others can tell whether they are still those in the folder.
    pub(crate) fn note(&self, files: &[(String, FileIdentity)]) -> io::Result<()> {
        let lines: String = files.iter().map(|(name, identity)| format!("{name} {identity}\n")).collect();
        self.lock.set_len(0)?;
        (&self.lock).write_all(lines.as_bytes())
    }
}

/// What a look at a folder finds.
pub(crate) enum FolderScan {
    /// No state, or an empty one.
    Nothing,
    /// A state that nobody has taken.
    State,
    /// A service that runs, with its file.
    Taken,
    /// A service that runs, and one of whose files is gone or another one.
    Lost,
}

/// Looks what is in the folder, and makes nothing.
pub(crate) fn look(folder: &Path) -> io::Result<FolderScan> {
    let Some(database) = there(fs::symlink_metadata(folder.join(DATABASE)))? else {
        return Ok(if is_taken(folder)? { FolderScan::Lost } else { FolderScan::Nothing });
    };
    if !is_taken(folder)? {
        return Ok(if database.len() > 0 { FolderScan::State } else { FolderScan::Nothing });
    }
    alone(folder, LOCK)?;
    let noted = there(File::open(folder.join(LOCK)))?.map(|file| {
        let mut text = String::new();
        file.take(LONGEST_NOTE).read_to_string(&mut text).map(|_| text)
    });
    // One that starts has noted nothing yet.
    for line in noted.transpose()?.unwrap_or_default().lines() {
        let Some((name, identity)) = line.split_once(' ').filter(|(name, _)| is_name(name)) else { continue };
        let file = there(fs::symlink_metadata(folder.join(name)))?;
        if file.is_none_or(|file| FileIdentity::of(&file).to_string() != identity) {
            return Ok(FolderScan::Lost);
        }
    }
    Ok(FolderScan::Taken)
}

/// Whether it is the name of a file that SQLite keeps here.
fn is_name(name: &str) -> bool {
    name.strip_prefix(DATABASE).is_some_and(|rest| matches!(rest, "" | "-wal" | "-shm"))
}

fn is_taken(folder: &Path) -> io::Result<bool> {
    let of = |file: &File| match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    };
    if let Some(Some(folder)) = there(open_folder(folder))?
        && of(&folder)?
    {
        return Ok(true);
    }
    alone(folder, LOCK)?;
    there(OpenOptions::new().write(true).open(folder.join(LOCK)))?.as_ref().map_or(Ok(false), of)
}

/// Nothing where nothing is there.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes the lock of a file, unless a service has it. Whoever only looks shares it for a moment, which stops no start.
fn lock_alone(file: &File) -> Result<(), NotLocked> {
    let (times, pause) = LOOKED_AT;
    for _ in 0..times {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        match file.try_lock_shared() {
            Ok(()) => file.unlock()?,
            Err(TryLockError::WouldBlock) => return Err(NotLocked::Taken),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        std::thread::sleep(pause);
    }
    Err(NotLocked::Taken)
}

/// Refuses a file that is also another one's: by its other name a second service would write it past every lock, and
/// into another log.
fn alone(folder: &Path, name: &str) -> io::Result<()> {
    let Some(file) = there(fs::symlink_metadata(folder.join(name)))? else { return Ok(()) };
    if !file.is_file() {
        return Err(io::Error::other(format!("`{name}` is no regular file: put the file itself in the folder")));
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file) > 1 {
        let says =
            "has a second name (a hard link), by which another service could write it: make it a copy, or remove it";
        return Err(io::Error::other(format!("`{name}` {says}")));
    }
    Ok(())
}

/// The folder, where the system lets a folder be locked.
#[cfg(unix)]
fn open_folder(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    // A pipe in its place is waited for by nobody.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(Some(rustix::fs::open(folder, flags, Mode::empty())?.into()))
}

#[cfg(not(unix))]
fn open_folder(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
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
