//! `files.watch`.

use futures_util::stream;
use redress::{Ctx, Events, Failure, Outcome, State, data, operation};

use crate::{
    Files,
    failures::{FolderFailure, PathFailure},
    list::top,
    near,
    sandbox::{blocking, caller_id},
    seen::FileChange,
    watchers::{Watcher, Watchers},
};

/// What to watch.
#[data]
pub(crate) struct Watch {
    /// The folder, relative to the served one.
    #[serde(default = "top")]
    pub(crate) path: String,
    /// Whether to watch the folders in it as well.
    #[serde(default = "yes")]
    pub(crate) recursive: bool,
}

fn yes() -> bool {
    true
}

/// What there is an end to.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WatchLimit {
    /// Those who watch.
    Watchers,
    /// The folders that are watched.
    Folders,
    /// What is in these folders.
    Entries,
}

/// Whose bound it is.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WatchLimitOwner {
    /// That of all callers together.
    All,
    /// That of each caller.
    Caller,
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
    /// As much is watched already as this service watches at once: watchers, folders, or entries in them.
    #[failure(kind = unavailable, message = "no more {of} are watched at once (per {per}: {limit})", effect = none,
              recover(wait, hint = "End a watch of your own that you no longer need (`per` is `caller`), or wait until others have ended (`per` is `all`)."))]
    WatchersFull { of: WatchLimit, limit: u64, per: WatchLimitOwner },
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
) -> Outcome<Events<FileChange, WatchFailure>, WatchFailure> {
    let path = files.sandbox.path(&input.path)?;
    let watcher = blocking(ctx, &files, {
        let (watchers, sandbox) = (files.watchers.clone(), files.sandbox.clone());
        let runtime = tokio::runtime::Handle::current();
        let caller = caller_id(ctx).to_owned();
        move |_, stop| {
            let joined = Watchers::join(&watchers, &runtime, &sandbox, &caller, (path.clone(), input.recursive), stop);
            joined.map_err(|fail| near::folders(fail, &sandbox, &path, stop))
        }
    })
    .await?;
    Ok(Events::new(stream::unfold(watcher, Watcher::next)))
}
