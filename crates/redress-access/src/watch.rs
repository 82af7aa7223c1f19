//! Files that change while the service runs.

use std::{
    error::Error as _,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, Weak, mpsc},
    thread,
    time::{Duration, SystemTime},
};

use crate::AccessError;

/// A file that is read again when it has changed.
#[derive(Debug)]
pub(crate) struct Watched {
    path: PathBuf,
    /// How it was when it was read last; nothing, if it could not be read.
    seen: Mutex<Option<Stamp>>,
}

/// What a file says that was read and holds nowhere yet.
#[derive(Debug)]
pub(crate) struct Fresh<T> {
    says: T,
    /// How the file was when it was read, and before that.
    now: Stamp,
    before: Option<Stamp>,
}

impl Watched {
    pub(crate) fn at(path: PathBuf) -> Watched {
        Watched { path, seen: Mutex::new(None) }
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
        let now = self.stamp()?;
        if !in_any_case && seen.as_ref() == Some(&now) {
            return Ok(());
        }
        let result = read(&self.path);
        // A file that says nonsense will say it until it changes. One that could not be read, for want of a file
        // descriptor for example, may hold a revocation, so it is read until it was.
        let unread = matches!(result, Err(AccessError::Read { .. }));
        *seen = (!unread).then_some(now);
        result.map(store)
    }

    fn stamp(&self) -> Result<Stamp, AccessError> {
        Stamp::of(&self.path).map_err(|source| AccessError::Read { path: self.path.clone(), source })
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
        let metadata = match fs::metadata(path) {
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

/// Something that looks at its files from time to time.
pub(crate) trait Watching: Send + Sync + 'static {
    /// Looks whether a file has changed, and takes over what it says. What is wrong is returned.
    fn look(&self) -> Vec<AccessError>;
}

/// Ends the watch when it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    // Never sent on: dropping it is the message.
    _gone: mpsc::Sender<()>,
}

impl Watch {
    /// Lets `watching` look every so often, for as long as both are there.
    ///
    /// A thread of its own, so that a disk that hangs holds up no call, and so that it needs no runtime.
    pub(crate) fn start(watching: Weak<impl Watching>, every: Duration) -> io::Result<Watch> {
        let (gone, left) = mpsc::channel::<()>();
        thread::Builder::new().name("redress-access".to_owned()).spawn(move || {
            let mut told = Vec::new();
            while let Err(mpsc::RecvTimeoutError::Timeout) = left.recv_timeout(every) {
                let Some(watching) = watching.upgrade() else { return };
                told = tell(&watching.look(), &told);
            }
        })?;
        Ok(Watch { _gone: gone })
    }
}

/// Logs what is wrong, except what was `told` at the last look already.
fn tell(errors: &[AccessError], told: &[String]) -> Vec<String> {
    let say = |error: &AccessError| {
        let source = error.source().map(ToString::to_string);
        let says = format!("{error} {source:?}");
        if !told.contains(&says) {
            tracing::error!(%error, source, "what was read before stays in force");
        }
        says
    };
    errors.iter().map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(path: &Path) -> Result<u8, AccessError> {
        Err(AccessError::Read { path: path.to_owned(), source: io::Error::other("too many open files") })
    }

    fn nonsense(path: &Path) -> Result<u8, AccessError> {
        Err(AccessError::TokensMalformed { path: path.to_owned(), line: 1, column: 1 })
    }

    fn watched() -> (tempfile::TempDir, Watched) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        (folder, Watched::at(path))
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
        // Also where nothing is there to be read any more.
        file.refresh(true, unread, |says| held = says).unwrap_err();
        fs::remove_file(&file.path).unwrap();
        file.refresh(false, |_| Ok(3), |says| held = says).unwrap();
        assert_eq!(held, 3);
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
        let errors = [unread(Path::new("a")).unwrap_err()];
        let told = tell(&errors, &[]);
        assert_eq!(tell(&errors, &told), told);
        assert!(tell(&[], &told).is_empty());
    }
}
