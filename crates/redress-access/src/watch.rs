//! Files that change while the service runs.

use std::{
    error::Error as _,
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, SystemTime},
};

use crate::AccessError;

/// A file that is read again when it has changed.
#[derive(Debug)]
pub(crate) struct WatchedFile {
    path: PathBuf,
    /// How it was when it was read last; nothing, if it could not be read.
    seen: Mutex<Option<Stamp>>,
    /// Whether it was ever there and could be used. From then on one that is missing is a mishap, and says nothing: an
    /// empty list is what says that there is nobody.
    held: AtomicBool,
}

/// What a file says that was read and holds nowhere yet.
#[derive(Debug)]
pub(crate) struct Fresh<T> {
    says: T,
    /// How the file was when it was read, and before that.
    now: Stamp,
    before: Option<Stamp>,
}

impl WatchedFile {
    pub(crate) fn at(path: PathBuf) -> WatchedFile {
        WatchedFile { path, seen: Mutex::new(None), held: AtomicBool::new(false) }
    }

    /// Reads the file, without taking over what it says.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Path) -> Result<T, AccessError>) -> Result<Fresh<T>, AccessError> {
        let before = self.seen().clone();
        // Taken before the file is read: a change in between is seen the next time.
        let now = self.stamp()?;
        Ok(Fresh { says: read(&self.path)?, now, before })
    }

    /// Takes over what was read, unless the file was read again since: that is what holds then.
    pub(crate) fn take<T>(&self, fresh: Fresh<T>, store: impl FnOnce(T)) {
        let mut seen = self.seen();
        if *seen == fresh.before {
            store(fresh.says);
            self.hold(&fresh.now);
            *seen = Some(fresh.now);
        }
    }

    /// Reads the file, in any case or if it has changed, and takes over what it says.
    pub(crate) fn refresh<T>(
        &self,
        in_any_case: bool,
        read: impl FnOnce(&Path) -> Result<T, AccessError>,
        store: impl FnOnce(T),
    ) -> Result<(), AccessError> {
        let mut seen = self.seen();
        let now = match self.stamp() {
            Ok(now) => now,
            Err(error) => {
                // What comes after is read, even if it looks as before.
                *seen = None;
                return Err(error);
            }
        };
        if !in_any_case && seen.as_ref() == Some(&now) {
            return Ok(());
        }
        let result = read(&self.path);
        // A file that says nonsense will say it until it changes. One that could not be read, for want of a file
        // descriptor for example, may hold a revocation, so it is read until it was.
        let unread = matches!(result, Err(AccessError::Read { .. }));
        let result = result.map(store);
        if result.is_ok() {
            self.hold(&now);
        }
        *seen = (!unread).then_some(now);
        result
    }

    fn hold(&self, now: &Stamp) {
        if *now != Stamp::Missing {
            self.held.store(true, Ordering::Relaxed);
        }
    }

    fn stamp(&self) -> Result<Stamp, AccessError> {
        match Stamp::of(&self.path) {
            Ok(Stamp::Missing) if self.held.load(Ordering::Relaxed) => {
                Err(AccessError::Gone { path: self.path.clone() })
            }
            Ok(stamp) => Ok(stamp),
            Err(source) => Err(AccessError::Read { path: self.path.clone(), source }),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Option<Stamp>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells one state of a file from the next, without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stamp {
    Missing,
    There {
        modified: Option<SystemTime>,
        size: u64,
        #[cfg(unix)]
        inode: (u64, u64, i64, i64),
    },
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Stamp> {
        let metadata = match redress_disk::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stamp::Missing),
            Err(error) => return Err(error),
        };
        Ok(Stamp::There {
            modified: metadata.modified().ok(),
            size: metadata.len(),
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt as _;
                (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
            },
        })
    }
}

/// Ends the watch when it is dropped.
#[derive(Debug)]
pub(crate) struct WatchHandle {
    // Never sent on: dropping it is the message.
    _gone: mpsc::Sender<()>,
}

impl WatchHandle {
    /// Looks at one file every so often, for as long as it and `whose` are there: whether it has changed, to take over what
    /// it says.
    ///
    /// A thread for each file, so that a disk that hangs holds up no call and no other file, and so that it needs no runtime.
    pub(crate) fn start<T: Send + Sync + 'static>(
        whose: Weak<T>,
        every: Duration,
        look: fn(&T) -> Result<(), AccessError>,
    ) -> io::Result<WatchHandle> {
        let (gone, left) = mpsc::channel::<()>();
        thread::Builder::new().name("redress-access".to_owned()).spawn(move || {
            let mut told = None;
            while let Err(mpsc::RecvTimeoutError::Timeout) = left.recv_timeout(every) {
                let Some(whose) = whose.upgrade() else { return };
                told = look(&whose).err().map(|error| tell(&error, told.as_deref()));
            }
        })?;
        Ok(WatchHandle { _gone: gone })
    }
}

/// Logs what is wrong, unless it was `told` at the last look already.
fn tell(error: &AccessError, told: Option<&str>) -> String {
    let source = error.source().map(ToString::to_string);
    let says = format!("{error} {source:?}");
    if told != Some(&says) {
        tracing::error!(%error, source, "what was read before stays in force");
    }
    says
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn unread(path: &Path) -> Result<u8, AccessError> {
        Err(AccessError::Read { path: path.to_owned(), source: io::Error::other("too many open files") })
    }

    fn nonsense(path: &Path) -> Result<u8, AccessError> {
        Err(AccessError::TokensMalformed { path: path.to_owned(), line: 1, column: 1 })
    }

    fn watched() -> (tempfile::TempDir, WatchedFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        (folder, WatchedFile::at(path))
    }

    #[test]
    fn a_change_that_could_not_be_read_is_read_at_the_next_look() {
        let (_folder, file) = watched();
        let mut held = 0;
        file.refresh(true, |_| Ok(1), |says| held = says).unwrap();
        fs::write(&file.path, "another").unwrap();
        file.refresh(false, unread, |says| held = says).unwrap_err();
        assert_eq!(held, 1);
        file.refresh(false, |_| Ok(2), |says| held = says).unwrap();
        assert_eq!(held, 2);
    }

    #[test]
    fn a_file_that_is_missing_says_nothing_once_it_was_there() {
        let (_folder, file) = watched();
        fs::remove_file(&file.path).unwrap();
        let mut held = 0;
        file.refresh(true, |_| Ok(1), |says| held = says).unwrap();
        fs::write(&file.path, "made by the first token").unwrap();
        file.refresh(false, |_| Ok(2), |says| held = says).unwrap();
        fs::remove_file(&file.path).unwrap();
        for in_any_case in [false, true] {
            let error = file.refresh(in_any_case, |_| Ok(3), |says| held = says).unwrap_err();
            assert!(matches!(error, AccessError::Gone { .. }), "{error}");
        }
        assert!(matches!(file.read(|_| Ok(3)), Err(AccessError::Gone { .. })));
        assert_eq!(held, 2);
        fs::write(&file.path, "back").unwrap();
        file.refresh(false, |_| Ok(4), |says| held = says).unwrap();
        assert_eq!(held, 4);
    }

    #[test]
    fn nonsense_is_read_once_for_each_change() {
        let (_folder, file) = watched();
        file.refresh(false, nonsense, |_| ()).unwrap_err();
        file.refresh(false, nonsense, |_| ()).unwrap();
        fs::write(&file.path, "another").unwrap();
        file.refresh(false, nonsense, |_| ()).unwrap_err();
    }

    #[test]
    fn what_was_read_holds_only_where_nobody_has_read_since() {
        let (_folder, file) = watched();
        let mut held = 0;
        let fresh = file.read(|_| Ok(1)).unwrap();
        file.take(fresh, |says| held = says);
        assert_eq!(held, 1);
        let old = file.read(|_| Ok(2)).unwrap();
        fs::write(&file.path, "another").unwrap();
        file.refresh(false, |_| Ok(3), |says| held = says).unwrap();
        file.take(old, |says| held = says);
        assert_eq!(held, 3);
    }

    #[test]
    fn what_stays_wrong_is_told_once() {
        let error = unread(Path::new("a")).unwrap_err();
        let told = tell(&error, None);
        assert_eq!(tell(&error, Some(&told)), told);
    }
}
