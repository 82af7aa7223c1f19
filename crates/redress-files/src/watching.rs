//! One folder that is watched: what the operating system says about it, and what is found there then.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cap_std::fs::Dir;
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use redress::{Fail, Outcome};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    entry::EntryKind,
    failures::FolderFailure,
    sandbox::{Sandbox, denied},
    seen::{FileChange, FolderSnapshot, Happened, MAX, SeeError},
    watch::WatchFailure,
    watchers::entries_full,
    wire_path::WirePath,
};

/// How long to wait for more after something happened, so that one change is told once.
const SETTLE: Duration = Duration::from_millis(40);
/// How many events of the operating system may wait to be looked at.
const WAITING: usize = 4_096;

/// What the operating system said.
enum OsEvent {
    /// Something about this path.
    At(PathBuf),
    /// Nothing more than that something was lost.
    Lost,
    /// It cannot go on.
    Broken(String),
}

/// Why watching ended. Several may watch one folder, and each is told.
#[derive(Clone, Debug)]
pub(crate) enum WatchEnd {
    Gone,
    TooMuch,
    /// The folders that are watched hold too much, taken together.
    Full,
    Unavailable(String),
    Io(io::ErrorKind, Option<i32>),
    Contained(String),
}

impl WatchEnd {
    pub(crate) fn failure(self, path: &WirePath) -> Fail<WatchFailure> {
        match self {
            WatchEnd::Gone => FolderFailure::FolderNotFound { path: path.as_str().to_owned() }.into(),
            WatchEnd::TooMuch => WatchFailure::WatchTooLarge { limit: u64::try_from(MAX).unwrap_or_default() }.into(),
            WatchEnd::Full => entries_full().into(),
            WatchEnd::Unavailable(cause) => WatchFailure::WatchUnavailable { cause }.into(),
            WatchEnd::Io(_, Some(number)) => denied(io::Error::from_raw_os_error(number), path),
            WatchEnd::Io(kind, None) => denied(io::Error::new(kind, "the folder handle refused"), path),
            WatchEnd::Contained(cause) => Fail::contain(cause),
        }
    }
}

impl From<SeeError> for WatchEnd {
    fn from(error: SeeError) -> WatchEnd {
        match error {
            SeeError::TooMuch => WatchEnd::TooMuch,
            SeeError::Io(error) => WatchEnd::Io(error.kind(), error.raw_os_error()),
        }
    }
}

/// A folder that is watched, with what has been seen in it.
pub(crate) struct Watching {
    sandbox: Arc<Sandbox>,
    path: WirePath,
    /// Kept open, since the watched path goes through it.
    _folder: Dir,
    base: PathBuf,
    /// Ends the watching when it is dropped.
    _watcher: RecommendedWatcher,
    heard: mpsc::Receiver<OsEvent>,
    lost: Arc<AtomicBool>,
    seen: Option<FolderSnapshot>,
}

impl Watching {
    pub(crate) fn start(
        sandbox: &Arc<Sandbox>,
        path: &WirePath,
        recursive: bool,
        stop: &CancellationToken,
    ) -> Outcome<Watching, WatchFailure> {
        let folder = sandbox.open_folder::<WatchFailure>(path)?;
        let base = watched_path(&folder)?;
        let (sender, heard) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicBool::new(false));
        let mut watcher =
            RecommendedWatcher::new(hearing(sender, Arc::clone(&lost)), Config::default().with_follow_symlinks(false))
                .map_err(|error| unavailable(&error))?;
        let mode = if recursive { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        watcher.watch(&base, mode).map_err(|error| unavailable(&error))?;
        // Only after the watching has begun, so that nothing falls between the two.
        let seen =
            FolderSnapshot::new(&folder, path, recursive, stop).map_err(|error| WatchEnd::from(error).failure(path))?;
        Ok(Watching {
            sandbox: Arc::clone(sandbox),
            path: path.clone(),
            _folder: folder,
            base,
            _watcher: watcher,
            heard,
            lost,
            seen: Some(seen),
        })
    }

    /// How many entries have been seen.
    pub(crate) fn entries(&self) -> usize {
        self.seen.as_ref().map_or(0, FolderSnapshot::len)
    }

    /// Waits until something happens, and says what it was. Nothing can be waited for after an end.
    pub(crate) async fn next(&mut self, stop: &CancellationToken) -> Result<Vec<FileChange>, WatchEnd> {
        let Some(first) = self.heard.recv().await else {
            return Err(WatchEnd::Unavailable("it fell silent".to_owned()));
        };
        tokio::time::sleep(SETTLE).await;
        let (mut changes, paths) = self.gather(first)?;
        let Some(mut seen) = self.seen.take() else { return Err(WatchEnd::Contained("nothing is seen".to_owned())) };
        let (sandbox, path, stop) = (Arc::clone(&self.sandbox), self.path.clone(), stop.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let looked = look(&sandbox, &path, &mut seen, &paths, &stop);
            (looked, seen)
        });
        let (looked, seen) = looked.await.map_err(|error| WatchEnd::Contained(error.to_string()))?;
        self.seen = Some(seen);
        changes.extend(looked?);
        Ok(changes)
    }

    /// That something was lost, if it was, and the paths that something was heard of, each once.
    fn gather(&mut self, first: OsEvent) -> Result<(Vec<FileChange>, BTreeSet<WireKey>), WatchEnd> {
        let (mut changes, mut paths) = (Vec::new(), BTreeSet::new());
        let mut next = Some(first);
        while let Some(heard) = next {
            match heard {
                OsEvent::At(path) => paths.extend(self.wire(&path).map(WireKey)),
                OsEvent::Lost => {}
                OsEvent::Broken(cause) => return Err(WatchEnd::Unavailable(cause)),
            }
            next = self.heard.try_recv().ok();
        }
        if self.lost.swap(false, Ordering::AcqRel) {
            changes.push(lost(&self.path));
        }
        Ok((changes, paths))
    }

    /// The path as callers write it, unless they could not.
    fn wire(&self, path: &Path) -> Option<WirePath> {
        let rest = path.strip_prefix(&self.base).ok()?;
        rest.iter().try_fold(self.path.clone(), |path, name| path.child(name.to_str()?))
    }
}

/// That some of what happened in the folder was not seen, or not read.
pub(crate) fn lost(folder: &WirePath) -> FileChange {
    FileChange { path: folder.as_str().to_owned(), change: Happened::Lost, kind: EntryKind::Folder }
}

/// A path in the order in which changes are told.
#[derive(PartialEq, Eq)]
struct WireKey(WirePath);

impl Ord for WireKey {
    fn cmp(&self, other: &WireKey) -> std::cmp::Ordering {
        self.0.names().cmp(other.0.names())
    }
}

impl PartialOrd for WireKey {
    fn partial_cmp(&self, other: &WireKey) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn look(
    sandbox: &Sandbox,
    watched: &WirePath,
    seen: &mut FolderSnapshot,
    paths: &BTreeSet<WireKey>,
    stop: &CancellationToken,
) -> Result<Vec<FileChange>, WatchEnd> {
    let mut changes = Vec::new();
    for WireKey(path) in paths {
        changes.extend(seen.look(sandbox.dir(), path, stop)?);
    }
    if sandbox.dir().is_dir(watched.as_path()) { Ok(changes) } else { Err(WatchEnd::Gone) }
}

fn unavailable(error: &notify::Error) -> Fail<WatchFailure> {
    WatchFailure::WatchUnavailable { cause: format!("{:?}", error.kind) }.into()
}

/// Passes on what the operating system says. It never waits: what finds no room is lost, and said to be.
fn hearing(sender: mpsc::Sender<OsEvent>, lost: Arc<AtomicBool>) -> impl FnMut(notify::Result<notify::Event>) + Send {
    move |event| match event {
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) => {
            let mut all = !event.need_rescan();
            for path in event.paths {
                all &= sender.try_send(OsEvent::At(path)).is_ok();
            }
            if !all {
                lost.store(true, Ordering::Release);
                // Wakes a reader that has just taken everything; one that has not will look anyway.
                let _ = sender.try_send(OsEvent::Lost);
            }
        }
        Err(error) => {
            let _ = sender.try_send(OsEvent::Broken(format!("{:?}", error.kind)));
        }
    }
}

/// A path by which the operating system reaches the open folder, wherever it has been moved to.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn watched_path(folder: &Dir) -> Outcome<PathBuf, WatchFailure> {
    use std::os::fd::AsRawFd as _;
    // The dot makes it the folder instead of a link to it.
    Ok(PathBuf::from(format!("/proc/self/fd/{}/.", folder.as_raw_fd())))
}

/// The path of the open folder, as the operating system has it.
#[cfg(target_vendor = "apple")]
fn watched_path(folder: &Dir) -> Outcome<PathBuf, WatchFailure> {
    use std::os::unix::ffi::OsStringExt as _;
    let path = rustix::fs::getpath(folder)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn watched_path(_: &Dir) -> Outcome<PathBuf, WatchFailure> {
    Err(WatchFailure::WatchUnavailable { cause: "no path leads to an open folder here".to_owned() })?
}
