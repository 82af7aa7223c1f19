//! Who watches what. All who watch one folder share one watcher of the operating system and one picture of what is in
//! it, however many they are; each has a queue of its own, of changes that they share too.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use redress::Outcome;
use tokio::{runtime::Handle, sync::Notify};
use tokio_util::sync::CancellationToken;

use crate::{
    sandbox::Sandbox,
    seen::Change,
    watch::WatchFailure,
    watching::{Ended, Watching, lost},
    wire_path::WirePath,
};

/// How many watch at once.
const WATCHERS: usize = 4_096;
/// How many folders are watched at once. Each has a thread that the operating system's events come by.
const FOLDERS: usize = 64;
/// How many entries the watched folders have, taken together.
const ENTRIES: usize = 400_000;
/// How many changes wait for one reader. One that is further behind is told that it missed some.
const QUEUED: usize = 8_192;

/// A folder, and whether it is watched with what is below.
type Watched = (String, bool);

/// Everything that is watched in one sandbox.
#[derive(Default)]
pub(crate) struct Watchers {
    folders: Mutex<HashMap<Watched, Arc<Folder>>>,
    watchers: AtomicUsize,
    entries: AtomicUsize,
}

/// One folder that may be watched.
#[derive(Default)]
struct Folder {
    /// Held while the watching is started, so that those who come meanwhile find it started.
    started: Mutex<Weak<Shared>>,
}

/// What all who watch one folder share. It ends with the last of them.
struct Shared {
    readers: Mutex<Readers>,
    /// Stops the watching.
    stop: CancellationToken,
}

#[derive(Default)]
struct Readers {
    queues: Vec<Weak<Queue>>,
    ended: Option<Ended>,
}

/// What waits for one reader.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    came: Notify,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<Arc<[Change]>>,
    /// How many of the first batch have been read.
    read: usize,
    /// How many changes there are.
    changes: usize,
    lost: bool,
    ended: Option<Ended>,
}

/// One who watches.
pub(crate) struct Watcher {
    path: WirePath,
    queue: Arc<Queue>,
    over: bool,
    /// The last one of a folder ends its watching.
    _shared: Arc<Shared>,
    _counted: Counted,
}

/// A place among those who watch.
struct Counted(Arc<Watchers>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing here is left half changed by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchers {
    /// Watches a folder, together with those who do already.
    pub(crate) fn join(
        watchers: &Arc<Watchers>,
        runtime: &Handle,
        sandbox: &Arc<Sandbox>,
        path: WirePath,
        recursive: bool,
        stop: &CancellationToken,
    ) -> Outcome<Watcher, WatchFailure> {
        let counted = Watchers::count(watchers).ok_or(WatchFailure::WatchersFull)?;
        let watched = (path.as_str().to_owned(), recursive);
        let folder = watchers.folder(&watched).ok_or(WatchFailure::WatchersFull)?;
        let mut started = locked(&folder.started);
        let shared = match started.upgrade().filter(|shared| locked(&shared.readers).ended.is_none()) {
            Some(shared) => shared,
            None => {
                // What could not be started leaves its place as whoever was the last does.
                let watching = Watching::start(sandbox, &path, recursive, stop)?;
                let shared = Arc::new(Shared { readers: Mutex::default(), stop: CancellationToken::new() });
                let mut entries = Entries { watchers: Arc::clone(watchers), count: 0 };
                entries.now(watching.entries()).map_err(|ended| ended.failure(&path))?;
                runtime.spawn(watched_by(watching, Arc::downgrade(&shared), shared.stop.clone(), entries));
                *started = Arc::downgrade(&shared);
                shared
            }
        };
        let queue = Arc::new(Queue::default());
        {
            let mut readers = locked(&shared.readers);
            readers.queues.retain(|queue| queue.strong_count() > 0);
            readers.queues.push(Arc::downgrade(&queue));
            // It may have ended since it was looked for.
            locked(&queue.waiting).ended.clone_from(&readers.ended);
        }
        Ok(Watcher { path, queue, over: false, _shared: shared, _counted: counted })
    }

    fn count(watchers: &Arc<Watchers>) -> Option<Counted> {
        let counted = Counted(Arc::clone(watchers));
        // It counts down when it is dropped, so it counts up whether or not it is given away.
        (watchers.watchers.fetch_add(1, Ordering::AcqRel) < WATCHERS).then_some(counted)
    }

    /// The place of a folder, if there is one for it.
    fn folder(&self, watched: &Watched) -> Option<Arc<Folder>> {
        let mut folders = locked(&self.folders);
        // Whoever starts or has started a watching holds its place; the others' are free.
        folders.retain(|_, folder| Arc::strong_count(folder) > 1 || locked(&folder.started).strong_count() > 0);
        if folders.len() >= FOLDERS && !folders.contains_key(watched) {
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

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// How many entries one folder's picture holds of those that all may hold.
struct Entries {
    watchers: Arc<Watchers>,
    count: usize,
}

impl Entries {
    /// Takes note of how many there are now, unless that is too many.
    fn now(&mut self, count: usize) -> Result<(), Ended> {
        let before = std::mem::replace(&mut self.count, count);
        let all = &self.watchers.entries;
        all.fetch_add(count, Ordering::AcqRel);
        all.fetch_sub(before, Ordering::AcqRel);
        if all.load(Ordering::Acquire) > ENTRIES && count > before { Err(Ended::Full) } else { Ok(()) }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        self.watchers.entries.fetch_sub(self.count, Ordering::AcqRel);
    }
}

/// Watches a folder for its readers, until the last of them has gone.
async fn watched_by(mut watching: Watching, shared: Weak<Shared>, stop: CancellationToken, mut entries: Entries) {
    loop {
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            next = watching.next(&stop) => next,
        };
        let next = next.and_then(|changes| entries.now(watching.entries()).map(|()| changes));
        let Some(shared) = shared.upgrade() else { return };
        match next {
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => shared.tell(&changes.into()),
            Err(ended) => return shared.end(&ended),
        }
    }
}

impl Shared {
    fn tell(&self, changes: &Arc<[Change]>) {
        for queue in locked(&self.readers).queues.iter().filter_map(Weak::upgrade) {
            queue.put(changes);
        }
    }

    fn end(&self, ended: &Ended) {
        let mut readers = locked(&self.readers);
        readers.ended = Some(ended.clone());
        for queue in readers.queues.iter().filter_map(Weak::upgrade) {
            locked(&queue.waiting).ended = Some(ended.clone());
            queue.came.notify_one();
        }
    }
}

impl Queue {
    fn put(&self, changes: &Arc<[Change]>) {
        let mut waiting = locked(&self.waiting);
        // One batch always fits, since a reader that is not behind has missed nothing.
        if waiting.changes > 0 && waiting.changes + changes.len() > QUEUED {
            *waiting = Waiting { lost: true, ..Waiting::default() };
        } else {
            waiting.changes += changes.len();
            waiting.batches.push_back(Arc::clone(changes));
        }
        drop(waiting);
        self.came.notify_one();
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Change> {
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
    pub(crate) async fn next(mut self) -> Option<(Outcome<Change, WatchFailure>, Watcher)> {
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
            let (watchers, sandbox, runtime) =
                (Arc::clone(&self.watchers), Arc::clone(&self.sandbox), Handle::current());
            let path = WirePath::parse(path).unwrap();
            let join = move || Watchers::join(&watchers, &runtime, &sandbox, path, true, &CancellationToken::new());
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

    async fn next(watcher: Watcher) -> (Outcome<Change, WatchFailure>, Watcher) {
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
        let mut all = Vec::new();
        for n in 0..FOLDERS {
            fs::create_dir(place.folder.path().join(n.to_string())).unwrap();
            all.push(place.watch(&n.to_string()).await.unwrap());
        }
        let refused = place.watch(".").await.err().unwrap();
        assert_eq!(refused.code(), Some("WATCHERS_FULL"));
        drop(all.pop());
        let top = place.watch(".").await.unwrap();
        while all.len() + 1 < WATCHERS {
            all.push(place.watch("0").await.unwrap());
        }
        assert_eq!(place.watch("0").await.err().unwrap().code(), Some("WATCHERS_FULL"));
        drop(top);
        assert!(place.watch("0").await.is_ok());
        drop(all);
        place.is_quiet().await;
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
        let shared = Shared { readers: Mutex::default(), stop: CancellationToken::new() };
        let (behind, reading) = (Arc::new(Queue::default()), Arc::new(Queue::default()));
        locked(&shared.readers).queues = vec![Arc::downgrade(&behind), Arc::downgrade(&reading)];
        let batch: Arc<[Change]> = vec![lost(&WirePath::parse(".").unwrap()); QUEUED / 2].into();
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
