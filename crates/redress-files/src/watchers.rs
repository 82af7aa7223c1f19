//! Who watches what. All who watch one folder share one watcher of the operating system and one picture of what is in
//! it, however many they are; each has a queue of its own, of changes that they share too.
//!
//! Why so: docs/decisions/0049-shared-watchers.md.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use redress::Outcome;
use tokio::{runtime::Handle, sync::Notify};
use tokio_util::sync::CancellationToken;

use crate::{
    sandbox::Sandbox,
    seen::FileChange,
    watch::{WatchFailure, WatchLimit, WatchLimitOwner},
    watching::{WatchEnd, Watching, lost},
    wire_path::WirePath,
};

/// How many watch at once.
const WATCHERS: WatchBound = WatchBound { all: 4_096, caller: 1_024 };
/// How many folders are watched at once. Each has a thread that the operating system's events come by.
const FOLDERS: WatchBound = WatchBound { all: 64, caller: 16 };
/// How many entries the watched folders have, taken together.
const ENTRIES: WatchBound = WatchBound { all: 400_000, caller: 200_000 };
/// How many changes wait for one reader. One that is further behind is told that it missed some.
const QUEUED: usize = 8_192;

/// How much there may be of something in all, and of one caller's: nobody takes it all.
struct WatchBound {
    all: usize,
    caller: usize,
}

/// A folder, and whether it is watched with what is below.
type WatchKey = (String, bool);

/// Everything that is watched in one sandbox.
#[derive(Default)]
pub(crate) struct Watchers {
    folders: Mutex<HashMap<WatchKey, Arc<WatchedFolder>>>,
    callers: Mutex<HashMap<String, CallerWatches>>,
    watchers: AtomicUsize,
    entries: AtomicUsize,
}

/// What one caller watches. Whoever joins a folder has it too: it may go on for this one alone.
#[derive(Default)]
struct CallerWatches {
    watchers: usize,
    /// How often each folder, and what is shared of it once that is there.
    folders: HashMap<WatchKey, (usize, Weak<SharedWatch>)>,
}

/// One folder that may be watched.
#[derive(Default)]
struct WatchedFolder {
    /// Held while the watching is started, so that those who come meanwhile find it started.
    started: Mutex<Weak<SharedWatch>>,
}

/// What all who watch one folder share. It ends with the last of them.
#[derive(Default)]
struct SharedWatch {
    readers: Mutex<Readers>,
    /// How many entries have been seen.
    entries: AtomicUsize,
    /// Stops the watching.
    stop: CancellationToken,
}

#[derive(Default)]
struct Readers {
    queues: Vec<Weak<ReaderQueue>>,
    ended: Option<WatchEnd>,
}

/// What waits for one reader.
#[derive(Default)]
struct ReaderQueue {
    waiting: Mutex<UnreadChanges>,
    came: Notify,
}

#[derive(Default)]
struct UnreadChanges {
    batches: VecDeque<Arc<[FileChange]>>,
    /// How many of the first batch have been read.
    read: usize,
    /// How many changes there are.
    changes: usize,
    lost: bool,
    ended: Option<WatchEnd>,
}

/// One who watches.
pub(crate) struct Watcher {
    path: WirePath,
    queue: Arc<ReaderQueue>,
    over: bool,
    /// The last one of a folder ends its watching.
    _shared: Arc<SharedWatch>,
    _counted: WatchPermit,
}

/// A place among those who watch, and among what its caller watches.
struct WatchPermit {
    watchers: Arc<Watchers>,
    caller: String,
    watched: WatchKey,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here is left half changed by a panic.
    mutex.lock()
}

impl Watchers {
    /// Watches a folder, together with those who do already.
    pub(crate) fn join(
        watchers: &Arc<Watchers>,
        runtime: &Handle,
        sandbox: &Arc<Sandbox>,
        caller: &str,
        (path, recursive): (WirePath, bool),
        stop: &CancellationToken,
    ) -> Outcome<Watcher, WatchFailure> {
        let watched = (path.as_str().to_owned(), recursive);
        let counted = Watchers::count(watchers, caller, &watched)?;
        let folder =
            watchers.folder(&watched).ok_or_else(|| FOLDERS.full(WatchLimit::Folders, WatchLimitOwner::All))?;
        let mut started = locked(&folder.started);
        let shared = match started.upgrade().filter(|shared| locked(&shared.readers).ended.is_none()) {
            Some(shared) => shared,
            None => {
                // What could not be started leaves its place as whoever was the last does.
                let watching = Watching::start(sandbox, &path, recursive, stop)?;
                let shared = Arc::new(SharedWatch::default());
                let mut entries = EntryBudget { watchers: Arc::clone(watchers), count: 0 };
                entries.now(&shared, watching.entries()).map_err(|ended| ended.failure(&path))?;
                runtime.spawn(watched_by(watching, Arc::downgrade(&shared), shared.stop.clone(), entries));
                *started = Arc::downgrade(&shared);
                shared
            }
        };
        counted.shares(&shared)?;
        let queue = Arc::new(ReaderQueue::default());
        {
            let mut readers = locked(&shared.readers);
            readers.queues.retain(|queue| queue.strong_count() > 0);
            readers.queues.push(Arc::downgrade(&queue));
            // It may have ended since it was looked for.
            locked(&queue.waiting).ended.clone_from(&readers.ended);
        }
        Ok(Watcher { path, queue, over: false, _shared: shared, _counted: counted })
    }

    fn count(watchers: &Arc<Watchers>, caller: &str, watched: &WatchKey) -> Result<WatchPermit, WatchFailure> {
        let mut callers = locked(&watchers.callers);
        if let Some(own) = callers.get(caller) {
            if own.watchers >= WATCHERS.caller {
                return Err(WATCHERS.full(WatchLimit::Watchers, WatchLimitOwner::Caller));
            }
            if own.folders.len() >= FOLDERS.caller && !own.folders.contains_key(watched) {
                return Err(FOLDERS.full(WatchLimit::Folders, WatchLimitOwner::Caller));
            }
        }
        // All of them count under this lock.
        if watchers.watchers.load(Ordering::Acquire) >= WATCHERS.all {
            return Err(WATCHERS.full(WatchLimit::Watchers, WatchLimitOwner::All));
        }
        watchers.watchers.fetch_add(1, Ordering::AcqRel);
        let own = callers.entry(caller.to_owned()).or_default();
        own.watchers += 1;
        own.folders.entry(watched.clone()).or_default().0 += 1;
        Ok(WatchPermit { watchers: Arc::clone(watchers), caller: caller.to_owned(), watched: watched.clone() })
    }

    /// The place of a folder, if there is one for it.
    fn folder(&self, watched: &WatchKey) -> Option<Arc<WatchedFolder>> {
        let mut folders = locked(&self.folders);
        // Whoever starts or has started a watching holds its place; the others' are free.
        folders.retain(|_, folder| Arc::strong_count(folder) > 1 || locked(&folder.started).strong_count() > 0);
        if folders.len() >= FOLDERS.all && !folders.contains_key(watched) {
            return None;
        }
        Some(Arc::clone(folders.entry(watched.clone()).or_default()))
    }

    /// How many watch, how many folders, and how many entries they have.
    #[cfg(test)]
    fn counts(&self) -> (usize, usize, usize) {
        let folders =
            locked(&self.folders).values().filter(|folder| locked(&folder.started).strong_count() > 0).count();
        (self.watchers.load(Ordering::Acquire), folders, self.entries.load(Ordering::Acquire))
    }
}

impl WatchBound {
    /// That there is no more of it.
    fn full(&self, of: WatchLimit, per: WatchLimitOwner) -> WatchFailure {
        let limit = match per {
            WatchLimitOwner::All => self.all,
            WatchLimitOwner::Caller => self.caller,
        };
        WatchFailure::WatchersFull { of, limit: u64::try_from(limit).unwrap_or(u64::MAX), per }
    }
}

/// That the watched folders have as many entries as they may have in all.
pub(crate) fn entries_full() -> WatchFailure {
    ENTRIES.full(WatchLimit::Entries, WatchLimitOwner::All)
}

impl WatchPermit {
    /// Notes what the caller watches from now on, unless that is too much of one caller's.
    fn shares(&self, shared: &Arc<SharedWatch>) -> Result<(), WatchFailure> {
        let mut callers = locked(&self.watchers.callers);
        let Some(own) = callers.get_mut(&self.caller) else { return Ok(()) };
        if let Some((_, noted)) = own.folders.get_mut(&self.watched) {
            *noted = Arc::downgrade(shared);
        }
        let entries =
            |(_, shared): &(usize, Weak<SharedWatch>)| Some(shared.upgrade()?.entries.load(Ordering::Acquire));
        let all: usize = own.folders.values().filter_map(entries).sum();
        if all > ENTRIES.caller { Err(ENTRIES.full(WatchLimit::Entries, WatchLimitOwner::Caller)) } else { Ok(()) }
    }
}

impl Drop for WatchPermit {
    fn drop(&mut self) {
        let mut callers = locked(&self.watchers.callers);
        self.watchers.watchers.fetch_sub(1, Ordering::AcqRel);
        let Some(own) = callers.get_mut(&self.caller) else { return };
        own.watchers -= 1;
        if let Some((times, _)) = own.folders.get_mut(&self.watched) {
            *times -= 1;
            if *times == 0 {
                own.folders.remove(&self.watched);
            }
        }
        if own.watchers == 0 {
            callers.remove(&self.caller);
        }
    }
}

impl Drop for SharedWatch {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// How many entries one folder's picture holds of those that all may hold.
struct EntryBudget {
    watchers: Arc<Watchers>,
    count: usize,
}

impl EntryBudget {
    /// Takes note of how many there are now, unless that is too many.
    fn now(&mut self, shared: &SharedWatch, count: usize) -> Result<(), WatchEnd> {
        let before = std::mem::replace(&mut self.count, count);
        shared.entries.store(count, Ordering::Release);
        let all = &self.watchers.entries;
        all.fetch_add(count, Ordering::AcqRel);
        all.fetch_sub(before, Ordering::AcqRel);
        if all.load(Ordering::Acquire) > ENTRIES.all && count > before { Err(WatchEnd::Full) } else { Ok(()) }
    }
}

impl Drop for EntryBudget {
    fn drop(&mut self) {
        self.watchers.entries.fetch_sub(self.count, Ordering::AcqRel);
    }
}

/// Watches a folder for its readers, until the last of them has gone.
async fn watched_by(
    mut watching: Watching,
    shared: Weak<SharedWatch>,
    stop: CancellationToken,
    mut entries: EntryBudget,
) {
    loop {
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            next = watching.next(&stop) => next,
        };
        let Some(shared) = shared.upgrade() else { return };
        let next = next.and_then(|changes| entries.now(&shared, watching.entries()).map(|()| changes));
        match next {
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => shared.tell(&changes.into()),
            Err(ended) => return shared.end(&ended),
        }
    }
}

impl SharedWatch {
    fn tell(&self, changes: &Arc<[FileChange]>) {
        for queue in locked(&self.readers).queues.iter().filter_map(Weak::upgrade) {
            queue.put(changes);
        }
    }

    fn end(&self, ended: &WatchEnd) {
        let mut readers = locked(&self.readers);
        readers.ended = Some(ended.clone());
        for queue in readers.queues.iter().filter_map(Weak::upgrade) {
            locked(&queue.waiting).ended = Some(ended.clone());
            queue.came.notify_one();
        }
    }
}

impl ReaderQueue {
    fn put(&self, changes: &Arc<[FileChange]>) {
        let mut waiting = locked(&self.waiting);
        // One batch always fits, since a reader that is not behind has missed nothing.
        if waiting.changes > 0 && waiting.changes + changes.len() > QUEUED {
            *waiting = UnreadChanges { lost: true, ..UnreadChanges::default() };
        } else {
            waiting.changes += changes.len();
            waiting.batches.push_back(Arc::clone(changes));
        }
        drop(waiting);
        self.came.notify_one();
    }
}

impl UnreadChanges {
    fn pop(&mut self) -> Option<FileChange> {
        let batch = self.batches.front()?;
        let change = batch.get(self.read).cloned();
        self.read += 1;
        self.changes = self.changes.saturating_sub(1);
        if self.read >= batch.len() {
            self.batches.pop_front();
            self.read = 0;
        }
        change
    }
}

impl Watcher {
    pub(crate) async fn next(mut self) -> Option<(Outcome<FileChange, WatchFailure>, Watcher)> {
        loop {
            if self.over {
                return None;
            }
            {
                let mut waiting = locked(&self.queue.waiting);
                if std::mem::take(&mut waiting.lost) {
                    drop(waiting);
                    return Some((Ok(lost(&self.path)), self));
                }
                if let Some(change) = waiting.pop() {
                    drop(waiting);
                    return Some((Ok(change), self));
                }
                if let Some(ended) = waiting.ended.take() {
                    drop(waiting);
                    self.over = true;
                    let failed = ended.failure(&self.path);
                    return Some((Err(failed), self));
                }
            }
            self.queue.came.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use redress_core::AnyFailure as _;
    use serde_json::json;

    use super::*;
    use crate::seen::Happened;

    struct Place {
        folder: tempfile::TempDir,
        sandbox: Arc<Sandbox>,
        watchers: Arc<Watchers>,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().unwrap();
            let sandbox = Arc::new(Sandbox::open(folder.path()).unwrap());
            Place { folder, sandbox, watchers: Arc::default() }
        }

        async fn watch(&self, path: &str) -> Outcome<Watcher, WatchFailure> {
            self.watch_as("ada", path).await
        }

        async fn watch_as(&self, caller: &str, path: &str) -> Outcome<Watcher, WatchFailure> {
            let (watchers, sandbox, runtime) =
                (Arc::clone(&self.watchers), Arc::clone(&self.sandbox), Handle::current());
            let what = (WirePath::parse(path).unwrap(), true);
            let caller = caller.to_owned();
            let join = move || Watchers::join(&watchers, &runtime, &sandbox, &caller, what, &CancellationToken::new());
            tokio::task::spawn_blocking(join).await.unwrap()
        }

        /// Waits until nothing is watched any more.
        async fn is_quiet(&self) {
            let quiet = async {
                while self.watchers.counts() != (0, 0, 0) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(30), quiet).await.expect("the last one ends it");
        }
    }

    async fn next(watcher: Watcher) -> (Outcome<FileChange, WatchFailure>, Watcher) {
        let next = tokio::time::timeout(Duration::from_secs(30), watcher.next());
        next.await.expect("something comes").expect("it has not ended")
    }

    #[tokio::test]
    async fn two_hundred_who_watch_a_folder_share_one_watcher_and_one_picture_until_the_last_has_gone() {
        let place = Place::new();
        for n in 0..100 {
            fs::write(place.folder.path().join(n.to_string()), "").unwrap();
        }
        let mut all = Vec::new();
        for _ in 0..200 {
            all.push(place.watch(".").await.unwrap());
        }
        assert_eq!(place.watchers.counts(), (200, 1, 100));
        fs::write(place.folder.path().join("new"), "").unwrap();
        let last = all.pop().unwrap();
        for watcher in all {
            let (told, _) = next(watcher).await;
            let told = told.unwrap();
            assert_eq!((told.path.as_str(), told.change), ("new", Happened::Created));
        }
        assert_eq!(place.watchers.counts(), (1, 1, 101));
        drop(last);
        place.is_quiet().await;
        // Whoever comes then begins anew.
        let again = place.watch(".").await.unwrap();
        assert_eq!(place.watchers.counts(), (1, 1, 101));
        drop(again);
        place.is_quiet().await;
    }

    #[tokio::test]
    async fn there_is_an_end_to_the_folders_and_to_those_who_watch_and_a_place_is_free_again() {
        let place = Place::new();
        let caller = |n: usize| format!("caller {}", n % 4);
        let mut all = Vec::new();
        for n in 0..FOLDERS.all {
            fs::create_dir(place.folder.path().join(n.to_string())).unwrap();
            all.push(place.watch_as(&caller(n), &n.to_string()).await.unwrap());
        }
        full(place.watch(".").await, json!({"of": "folders", "limit": 64, "per": "all"}));
        drop(all.pop());
        let top = place.watch(".").await.unwrap();
        while all.len() + 1 < WATCHERS.all {
            let n = all.len() % 4;
            all.push(place.watch_as(&caller(n), &n.to_string()).await.unwrap());
        }
        full(place.watch("0").await, json!({"of": "watchers", "limit": 4_096, "per": "all"}));
        drop(top);
        assert!(place.watch("0").await.is_ok());
        drop(all);
        place.is_quiet().await;
    }

    #[tokio::test]
    async fn one_caller_cannot_take_all_folders_nor_all_watchers_and_the_others_watch_on() {
        let place = Place::new();
        for n in 0..=FOLDERS.caller {
            fs::create_dir(place.folder.path().join(n.to_string())).unwrap();
        }
        let mut eves = Vec::new();
        for n in 0..FOLDERS.caller {
            eves.push(place.watch_as("eve", &n.to_string()).await.unwrap());
        }
        full(place.watch_as("eve", "16").await, json!({"of": "folders", "limit": 16, "per": "caller"}));
        let ada = place.watch("16").await.unwrap();
        // That another caller watches it already makes it no less one more of this caller's.
        full(place.watch_as("eve", "16").await, json!({"of": "folders", "limit": 16, "per": "caller"}));
        while eves.len() < WATCHERS.caller {
            eves.push(place.watch_as("eve", "0").await.unwrap());
        }
        full(place.watch_as("eve", "0").await, json!({"of": "watchers", "limit": 1_024, "per": "caller"}));
        let beside = place.watch("0").await.unwrap();
        drop(eves);
        assert!(place.watch_as("eve", "16").await.is_ok());
        drop((ada, beside));
        place.is_quiet().await;
        assert!(locked(&place.watchers.callers).is_empty());
    }

    #[tokio::test]
    async fn the_entries_of_what_one_caller_watches_have_an_end_of_their_own() {
        let place = Place::new();
        for name in ["a", "b", "c"] {
            fs::create_dir(place.folder.path().join(name)).unwrap();
        }
        let eves = [place.watch_as("eve", "a").await.unwrap(), place.watch_as("eve", "b").await.unwrap()];
        for eve in &eves {
            eve._shared.entries.store(ENTRIES.caller / 2, Ordering::Release);
        }
        let third = place.watch("c").await.unwrap();
        third._shared.entries.store(1, Ordering::Release);
        full(place.watch_as("eve", "c").await, json!({"of": "entries", "limit": 200_000, "per": "caller"}));
        drop(eves);
        assert!(place.watch_as("eve", "c").await.is_ok());
        drop(third);
        place.is_quiet().await;
    }

    #[track_caller]
    fn full(watched: Outcome<Watcher, WatchFailure>, details: serde_json::Value) {
        let refused = watched.err().expect("there is no place");
        assert_eq!(refused.code(), Some("WATCHERS_FULL"));
        let said = refused.failure().unwrap().details().unwrap().unwrap();
        assert_eq!(serde_json::to_value(said).unwrap(), details);
    }

    #[tokio::test]
    async fn a_folder_that_goes_ends_it_for_all_who_watch_it() {
        let place = Place::new();
        fs::create_dir(place.folder.path().join("d")).unwrap();
        fs::write(place.folder.path().join("d/x"), "").unwrap();
        let (a, b) = (place.watch("d").await.unwrap(), place.watch("d").await.unwrap());
        fs::remove_dir_all(place.folder.path().join("d")).unwrap();
        for mut watcher in [a, b] {
            // What was in it may be told before.
            let ended = loop {
                let (told, again) = next(watcher).await;
                watcher = again;
                if let Err(ended) = told {
                    break ended;
                }
            };
            assert_eq!(ended.code(), Some("FOLDER_NOT_FOUND"));
            assert!(watcher.next().await.is_none());
        }
        place.is_quiet().await;
    }

    #[tokio::test]
    async fn a_reader_that_is_behind_is_told_so_once_and_the_others_miss_nothing() {
        let shared = SharedWatch::default();
        let (behind, reading) = (Arc::new(ReaderQueue::default()), Arc::new(ReaderQueue::default()));
        locked(&shared.readers).queues = vec![Arc::downgrade(&behind), Arc::downgrade(&reading)];
        let batch: Arc<[FileChange]> = vec![lost(&WirePath::parse(".").unwrap()); QUEUED / 2].into();
        for _ in 0..5 {
            shared.tell(&batch);
            let mut waiting = locked(&reading.waiting);
            while waiting.pop().is_some() {}
            assert!(!waiting.lost);
        }
        let waiting = locked(&behind.waiting);
        assert!(waiting.lost && waiting.changes <= QUEUED);
        assert_eq!(waiting.batches.len() * batch.len(), waiting.changes);
    }
}
