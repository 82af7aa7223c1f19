//! Files that change while the service runs.

use std::{
    fs, io,
    path::Path,
    sync::{Weak, mpsc},
    thread,
    time::{Duration, SystemTime},
};

/// What tells one state of a file from the next, without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    #[cfg(unix)]
    inode: (u64, u64, i64, i64),
}

impl Stamp {
    /// The state of the file at `path`; nothing, if there is none.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Stamp>> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Stamp {
            modified: metadata.modified().ok(),
            size: metadata.len(),
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt as _;
                (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
            },
        }))
    }
}

/// Something that looks at its files from time to time.
pub(crate) trait Watching: Send + Sync + 'static {
    /// Looks whether a file has changed, and takes over what it says.
    fn look(&self);
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
            while let Err(mpsc::RecvTimeoutError::Timeout) = left.recv_timeout(every) {
                let Some(watching) = watching.upgrade() else { return };
                watching.look();
            }
        })?;
        Ok(Watch { _gone: gone })
    }
}
