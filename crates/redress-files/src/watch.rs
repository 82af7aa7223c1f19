//! `files.watch`.

use std::{
    collections::{BTreeSet, VecDeque},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use cap_std::fs::Dir;
use futures_util::stream;
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use redress::{Ctx, Events, Fail, Failure, Outcome, State, data, operation};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    entry::EntryKind,
    failures::{FolderFailure, PathFailure},
    list::top,
    sandbox::{Sandbox, blocking, denied},
    seen::{Change, Happened, MOST, SeeError, Seen},
    wire_path::WirePath,
};

/// How long to wait for more after something happened, so that one change is told once.
const SETTLE: Duration = Duration::from_millis(40);
/// How many events of the operating system may wait to be looked at.
const WAITING: usize = 4_096;

/// What to watch.
#[data]
pub(crate) struct Watch {
    /// The folder; the top unless said.
    #[serde(default = "top")]
    pub(crate) path: String,
    /// Whether to watch the folders in it as well.
    #[serde(default = "yes")]
    pub(crate) recursive: bool,
}

fn yes() -> bool {
    true
}

/// How watching may fail.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, FolderFailure))]
pub(crate) enum WatchFailure {
    /// The folder holds more than can be watched.
    #[failure(kind = validation, message = "the folder has more than {limit} entries", effect = none,
              recover(fix_input = "/path", hint = "Watch a smaller folder, or watch without what is below."))]
    WatchTooLarge { limit: u64 },
    /// The operating system cannot watch any more folders, or none at all.
    #[failure(kind = unavailable, effect = none,
              recover(wait, hint = "Wait until other watchers have ended, then watch again."))]
    WatchUnavailable {
        #[failure(private)]
        cause: String,
    },
}

/// Watch a folder for changes.
///
/// Tells what is created, modified and removed from the moment that the stream is open. Links are told of and never
/// followed. A move is told as what is gone and what is there.
#[operation(subscription, name = "files.watch", access(scopes = "files:read"), tags("files"), buffer = 256)]
pub(crate) async fn watch(
    ctx: &Ctx,
    files: State<Files>,
    input: Watch,
) -> Outcome<Events<Change, WatchFailure>, WatchFailure> {
    let path = WirePath::parse(&input.path)?;
    let watching = blocking(ctx, &files, {
        let sandbox = Arc::clone(&files.sandbox);
        move |_, stop| Watching::start(sandbox, path, input.recursive, stop)
    })
    .await?;
    Ok(Events::new(stream::unfold(watching, Watching::next)))
}

/// What the operating system said.
enum Heard {
    /// Something about this path.
    At(PathBuf),
    /// Nothing more than that something was lost.
    Lost,
    /// It cannot go on.
    Broken(String),
}

struct Watching {
    sandbox: Arc<Sandbox>,
    path: WirePath,
    /// Kept open, since the watched path goes through it.
    _folder: Dir,
    base: PathBuf,
    /// Ends the watching when it is dropped.
    _watcher: RecommendedWatcher,
    heard: mpsc::Receiver<Heard>,
    lost: Arc<AtomicBool>,
    stop: CancellationToken,
    seen: Option<Seen>,
    changes: VecDeque<Change>,
    failed: Option<Fail<WatchFailure>>,
}

impl Watching {
    fn start(
        sandbox: Arc<Sandbox>,
        path: WirePath,
        recursive: bool,
        stop: &CancellationToken,
    ) -> Outcome<Watching, WatchFailure> {
        let folder = sandbox.open_folder::<WatchFailure>(&path)?;
        let base = watched_path(&folder)?;
        let (sender, heard) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicBool::new(false));
        let mut watcher =
            RecommendedWatcher::new(hearing(sender, Arc::clone(&lost)), Config::default().with_follow_symlinks(false))
                .map_err(|error| unavailable(&error))?;
        let mode = if recursive { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        watcher.watch(&base, mode).map_err(|error| unavailable(&error))?;
        // Only after the watching has begun, so that nothing falls between the two.
        let seen = Seen::new(&folder, &path, recursive, stop).map_err(|error| not_seen(error, &path))?;
        Ok(Watching {
            sandbox,
            path,
            _folder: folder,
            base,
            _watcher: watcher,
            heard,
            lost,
            stop: stop.clone(),
            seen: Some(seen),
            changes: VecDeque::new(),
            failed: None,
        })
    }

    async fn next(mut self) -> Option<(Outcome<Change, WatchFailure>, Watching)> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Some((Ok(change), self));
            }
            if let Some(failed) = self.failed.take() {
                // Nothing is seen from here on, so nothing comes after it.
                self.seen = None;
                return Some((Err(failed), self));
            }
            let mut seen = self.seen.take()?;
            let first = self.heard.recv().await?;
            tokio::time::sleep(SETTLE).await;
            let paths = self.gather(first);
            let (sandbox, path, stop) = (Arc::clone(&self.sandbox), self.path.clone(), self.stop.clone());
            let looked = tokio::task::spawn_blocking(move || {
                let looked = look(&sandbox, &path, &mut seen, &paths, &stop);
                (looked, seen)
            });
            match looked.await {
                Ok((Ok(changes), seen)) => {
                    self.changes.extend(changes);
                    self.seen = Some(seen);
                }
                Ok((Err(failed), seen)) => {
                    self.seen = Some(seen);
                    self.failed.get_or_insert(failed);
                }
                Err(error) => self.failed = Some(Fail::contain(error)),
            }
        }
    }

    /// The paths that something was heard of, each once.
    fn gather(&mut self, first: Heard) -> BTreeSet<WireKey> {
        let mut paths = BTreeSet::new();
        let mut next = Some(first);
        while let Some(heard) = next {
            match heard {
                Heard::At(path) => paths.extend(self.wire(&path).map(WireKey)),
                Heard::Lost => {}
                Heard::Broken(cause) => self.failed = Some(WatchFailure::WatchUnavailable { cause }.into()),
            }
            next = self.heard.try_recv().ok();
        }
        if self.lost.swap(false, Ordering::AcqRel) {
            let path = self.path.as_str().to_owned();
            self.changes.push_back(Change { path, change: Happened::Lost, kind: EntryKind::Folder });
        }
        paths
    }

    /// The path as callers write it, unless they could not.
    fn wire(&self, path: &Path) -> Option<WirePath> {
        let rest = path.strip_prefix(&self.base).ok()?;
        rest.iter().try_fold(self.path.clone(), |path, name| path.child(name.to_str()?))
    }
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
    seen: &mut Seen,
    paths: &BTreeSet<WireKey>,
    stop: &CancellationToken,
) -> Outcome<Vec<Change>, WatchFailure> {
    let mut changes = Vec::new();
    for WireKey(path) in paths {
        changes.extend(seen.look(sandbox.dir(), path, stop).map_err(|error| not_seen(error, path))?);
    }
    if !sandbox.dir().is_dir(watched.as_path()) {
        return Err(FolderFailure::FolderNotFound { path: watched.as_str().to_owned() }.into());
    }
    Ok(changes)
}

fn not_seen(error: SeeError, path: &WirePath) -> Fail<WatchFailure> {
    match error {
        SeeError::TooMuch => WatchFailure::WatchTooLarge { limit: u64::try_from(MOST).unwrap_or_default() }.into(),
        SeeError::Io(error) => denied(error, path),
    }
}

fn unavailable(error: &notify::Error) -> Fail<WatchFailure> {
    WatchFailure::WatchUnavailable { cause: format!("{:?}", error.kind) }.into()
}

/// Passes on what the operating system says. It never waits: what finds no room is lost, and said to be.
fn hearing(sender: mpsc::Sender<Heard>, lost: Arc<AtomicBool>) -> impl FnMut(notify::Result<notify::Event>) + Send {
    move |event| match event {
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) => {
            let mut all = !event.need_rescan();
            for path in event.paths {
                all &= sender.try_send(Heard::At(path)).is_ok();
            }
            if !all {
                lost.store(true, Ordering::Release);
                // Wakes a reader that has just taken everything; one that has not will look anyway.
                let _ = sender.try_send(Heard::Lost);
            }
        }
        Err(error) => {
            let _ = sender.try_send(Heard::Broken(format!("{:?}", error.kind)));
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
