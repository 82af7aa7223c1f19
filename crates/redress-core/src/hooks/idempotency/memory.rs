//! Keys in memory.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::ready,
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::watch, time::Instant};

use super::{Begin, Fingerprint, IdempotencyKey, IdempotencyStore, Recorded, Settled};
use crate::{StoreError, author::handler::BoxFuture};

/// How many bytes of outcomes are kept, unless another number is given.
const OUTCOMES: usize = 64 * 1024 * 1024;

/// Keys kept in memory, bounded in number, bytes and time, gone with the process.
#[derive(Debug)]
pub struct IdempotencyMemory {
    keys: Mutex<KeyTable>,
    lasts: Duration,
    at_most: usize,
    max_bytes: usize,
}

/// The keys, each also found by its age and by its caller.
#[derive(Debug, Default)]
struct KeyTable {
    entries: HashMap<Arc<IdempotencyKey>, KeyEntry>,
    /// By the order in which they came.
    order: BTreeMap<u64, Arc<IdempotencyKey>>,
    /// The places in that order of each caller's keys.
    of: HashMap<Arc<str>, BTreeSet<u64>>,
    /// How many keys each caller has.
    sizes: BTreeSet<(usize, Arc<str>)>,
    outcomes: Outcomes,
    came: u64,
}

/// How many bytes the outcomes have that are kept.
#[derive(Debug, Default)]
struct Outcomes {
    bytes: usize,
    /// The places of each caller's keys that have an outcome, with its bytes.
    of: HashMap<Arc<str>, HeldOutcomes>,
    /// How many bytes each caller has.
    sizes: BTreeSet<(usize, Arc<str>)>,
}

#[derive(Debug, Default)]
struct HeldOutcomes {
    bytes: usize,
    places: BTreeMap<u64, usize>,
}

impl Outcomes {
    /// Takes note that the outcome at a place has so many bytes now; none, where it is kept no longer.
    fn note(&mut self, caller: &str, place: u64, bytes: usize) {
        let (caller, mut held) =
            self.of.remove_entry(caller).unwrap_or_else(|| (caller.into(), HeldOutcomes::default()));
        self.sizes.remove(&(held.bytes, Arc::clone(&caller)));
        let before = if bytes == 0 { held.places.remove(&place) } else { held.places.insert(place, bytes) };
        held.bytes = held.bytes + bytes - before.unwrap_or(0);
        self.bytes = self.bytes + bytes - before.unwrap_or(0);
        if !held.places.is_empty() {
            self.sizes.insert((held.bytes, Arc::clone(&caller)));
            self.of.insert(caller, held);
        }
    }

    /// The oldest of whoever has the most bytes.
    fn first_to_go(&self) -> Option<u64> {
        let (_, caller) = self.sizes.last()?;
        self.of.get(caller)?.places.keys().next().copied()
    }
}

#[derive(Debug)]
struct KeyEntry {
    place: u64,
    input: Fingerprint,
    since: Instant,
    stage: KeyStage,
    ended: watch::Sender<()>,
}

#[derive(Debug)]
enum KeyStage {
    Running,
    Ended(Arc<Recorded>),
    Lost,
}

impl KeyStage {
    /// About how many bytes are kept for it.
    fn bytes(&self) -> usize {
        let KeyStage::Ended(outcome) = self else { return 0 };
        match &**outcome {
            Recorded::Output(output) => output.json().len().max(1),
            Recorded::Problem(problem) => {
                size_of_val(&**problem) + problem.details.as_ref().map_or(0, |details| details.get().len())
            }
        }
    }
}

impl KeyEntry {
    fn is_running(&self) -> bool {
        matches!(self.stage, KeyStage::Running)
    }
}

impl Default for IdempotencyMemory {
    fn default() -> IdempotencyMemory {
        IdempotencyMemory::new(Duration::from_secs(24 * 60 * 60), 100_000)
    }
}

impl IdempotencyMemory {
    /// Keys that last so long, and at most so many of them. Past that, whoever has most of them loses its oldest that
    /// has ended; who has none to lose is refused. So nobody makes another's key work twice.
    pub fn new(lasts: Duration, at_most: usize) -> IdempotencyMemory {
        IdempotencyMemory { keys: Mutex::default(), lasts, at_most, max_bytes: OUTCOMES }
    }

    /// Keeps so many bytes of outcomes, and 64 MiB unless said. Past that, whoever has the most bytes loses its oldest
    /// outcome; the key stays, and a repetition is told that the outcome is unknown instead of running again.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> IdempotencyMemory {
        self.max_bytes = bytes;
        self
    }

    fn keys(&self) -> MutexGuard<'_, KeyTable> {
        // A panic elsewhere cannot leave the keys half changed, so a lock without poison will do.
        self.keys.lock()
    }

    /// Whether there is room for one more key of `caller`, after those have gone that can.
    fn has_room(&self, keys: &mut KeyTable, caller: &str) -> bool {
        if keys.entries.len() < self.at_most {
            return true;
        }
        keys.forget_older_than(self.lasts);
        keys.entries.len() < self.at_most || keys.forget_one_for(caller)
    }

    /// One look at the key: an answer, or what to wait for.
    fn look(&self, key: &IdempotencyKey, input: Fingerprint) -> Result<Result<Begin, StoreError>, watch::Receiver<()>> {
        let mut keys = self.keys();
        match self.known(&mut keys, key, input)? {
            Begin::Fresh => {}
            known @ (Begin::Replay(_) | Begin::Conflict | Begin::Unknown) => return Ok(Ok(known)),
        }
        if !self.has_room(&mut keys, &key.caller) {
            return Ok(Err(StoreError::new("there is no room for another key")));
        }
        keys.insert(key, input);
        Ok(Ok(Begin::Fresh))
    }

    /// What is known of the key, or what to wait for.
    fn known(
        &self,
        keys: &mut KeyTable,
        key: &IdempotencyKey,
        input: Fingerprint,
    ) -> Result<Begin, watch::Receiver<()>> {
        let Some(entry) = keys.entries.get(key) else { return Ok(Begin::Fresh) };
        if !entry.is_running() && entry.since.elapsed() >= self.lasts {
            keys.remove(key);
            return Ok(Begin::Fresh);
        }
        match &entry.stage {
            _ if entry.input != input => Ok(Begin::Conflict),
            KeyStage::Running => Err(entry.ended.subscribe()),
            KeyStage::Ended(outcome) => Ok(Begin::Replay(Arc::clone(outcome))),
            KeyStage::Lost => Ok(Begin::Unknown),
        }
    }
}

impl KeyTable {
    fn insert(&mut self, key: &IdempotencyKey, input: Fingerprint) {
        self.came += 1;
        let (place, key) = (self.came, Arc::new(key.clone()));
        let entry =
            KeyEntry { place, input, since: Instant::now(), stage: KeyStage::Running, ended: watch::Sender::new(()) };
        self.order.insert(place, Arc::clone(&key));
        self.count(&key.caller, |places| {
            places.insert(place);
        });
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: &IdempotencyKey) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.order.remove(&entry.place);
        self.outcomes.note(&key.caller, entry.place, 0);
        self.count(&key.caller, |places| {
            places.remove(&entry.place);
        });
    }

    /// Forgets outcomes, not their keys, until the others fit.
    fn make_room(&mut self, max_bytes: usize, lasts: Duration) {
        if self.outcomes.bytes > max_bytes {
            self.forget_older_than(lasts);
        }
        while self.outcomes.bytes > max_bytes
            && let Some(place) = self.outcomes.first_to_go()
        {
            let Some(key) = self.order.get(&place).cloned() else { return };
            self.outcomes.note(&key.caller, place, 0);
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.stage = KeyStage::Lost;
            }
        }
    }

    /// Changes the places of a caller, and how many they are.
    fn count(&mut self, caller: &str, change: impl FnOnce(&mut BTreeSet<u64>)) {
        let (caller, mut places) = self.of.remove_entry(caller).unwrap_or_else(|| (caller.into(), BTreeSet::new()));
        self.sizes.remove(&(places.len(), Arc::clone(&caller)));
        change(&mut places);
        if !places.is_empty() {
            self.sizes.insert((places.len(), Arc::clone(&caller)));
            self.of.insert(caller, places);
        }
    }

    fn forget_older_than(&mut self, lasts: Duration) {
        let now = Instant::now();
        let entry_of = |key: &Arc<IdempotencyKey>| self.entries.get(key);
        let over: Vec<_> = self
            .order
            .values()
            .take_while(|key| entry_of(key).is_none_or(|entry| now.duration_since(entry.since) >= lasts))
            .filter(|key| entry_of(key).is_some_and(|entry| !entry.is_running()))
            .cloned()
            .collect();
        over.iter().for_each(|key| self.remove(key));
    }

    /// Forgets the oldest key that has ended of whoever has most of them, `caller` with one more included.
    fn forget_one_for(&mut self, caller: &str) -> bool {
        let own = self.of.get(caller).map_or(0, BTreeSet::len) + 1;
        let holder = match self.sizes.last() {
            Some((max, holder)) if *max > own => holder,
            _ => caller,
        };
        let places = self.of.get(holder).into_iter().flatten();
        let mut keys = places.filter_map(|place| self.order.get(place));
        let ended = keys.find(|key| self.entries.get(*key).is_some_and(|entry| !entry.is_running())).cloned();
        ended.inspect(|key| self.remove(key)).is_some()
    }
}

impl IdempotencyStore for IdempotencyMemory {
    fn begin<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>> {
        Box::pin(async move {
            loop {
                match self.look(key, input) {
                    Ok(answer) => return answer,
                    // The sender goes away when the first call frees its key; either way
                    // the next look tells.
                    Err(mut ended) => {
                        let _ = ended.changed().await;
                    }
                }
            }
        })
    }

    fn peek<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>> {
        Box::pin(async move {
            loop {
                let known = self.known(&mut self.keys(), key, input);
                match known {
                    Ok(begin) => return Ok(begin),
                    Err(mut ended) => {
                        let _ = ended.changed().await;
                    }
                }
            }
        })
    }

    fn settle(&self, key: &IdempotencyKey, settled: Settled) -> BoxFuture<'static, Result<(), StoreError>> {
        let mut keys = self.keys();
        let stage = match settled {
            Settled::Outcome(outcome) => Some(KeyStage::Ended(Arc::new(outcome))),
            Settled::Lost => Some(KeyStage::Lost),
            Settled::Free => None,
        };
        match (stage, keys.entries.get_mut(key)) {
            (Some(stage), Some(entry)) => {
                let bytes = stage.bytes();
                entry.stage = stage;
                entry.ended.send_replace(());
                let place = entry.place;
                keys.outcomes.note(&key.caller, place, bytes);
                keys.make_room(self.max_bytes, self.lasts);
            }
            (None, Some(_)) => keys.remove(key),
            (_, None) => {}
        }
        Box::pin(ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use redress_contract::{Name, OutputJson};

    use super::*;

    fn key(caller: &str, key: &str) -> IdempotencyKey {
        IdempotencyKey { caller: caller.into(), operation: Name::new("pay.send").unwrap(), key: key.into() }
    }

    /// Makes a call with a key, and tells whether it ran; nothing where it was refused.
    async fn ran(memory: &IdempotencyMemory, caller: &str, name: &str) -> Option<bool> {
        let key = key(caller, name);
        match memory.begin(&key, [0; 32]).await.ok()? {
            Begin::Fresh => {
                let outcome = Recorded::Output(OutputJson::encode(&1).unwrap());
                memory.settle(&key, Settled::Outcome(outcome)).await.unwrap();
                Some(true)
            }
            Begin::Replay(_) => Some(false),
            other @ (Begin::Conflict | Begin::Unknown) => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn fresh_keys_of_one_caller_push_out_no_key_of_another() {
        let memory = IdempotencyMemory::new(Duration::from_secs(60), 8);
        for name in ["a", "b", "c"] {
            assert_eq!(ran(&memory, "ada", name).await, Some(true));
        }
        for number in 0..100 {
            assert_eq!(ran(&memory, "eve", &number.to_string()).await, Some(true));
        }
        for name in ["a", "b", "c"] {
            assert_eq!(ran(&memory, "ada", name).await, Some(false));
        }
        // Its own oldest have gone.
        assert_eq!(ran(&memory, "eve", "99").await, Some(false));
        assert_eq!(ran(&memory, "eve", "0").await, Some(true));
    }

    #[tokio::test]
    async fn large_outcomes_of_one_caller_are_forgotten_and_neither_their_keys_nor_anothers_outcome_is() {
        let memory = IdempotencyMemory::new(Duration::from_secs(60), 100_000).with_max_bytes(100_000);
        let ended = async |caller: &str, name: &str, bytes: usize| {
            let key = key(caller, name);
            assert!(matches!(memory.begin(&key, [0; 32]).await, Ok(Begin::Fresh)));
            let outcome = Recorded::Output(OutputJson::encode(&"x".repeat(bytes)).unwrap());
            memory.settle(&key, Settled::Outcome(outcome)).await.unwrap();
        };
        ended("ada", "a", 20_000).await;
        for number in 0..1000 {
            ended("eve", &number.to_string(), 10_000).await;
            assert!(memory.keys().outcomes.bytes <= 100_000);
        }
        // One that is larger than everything is kept no longer than it takes.
        ended("eve", "huge", 200_000).await;
        let again = async |caller, name| memory.begin(&key(caller, name), [0; 32]).await.unwrap();
        assert!(matches!(again("ada", "a").await, Begin::Replay(_)));
        for name in ["0", "990", "huge"] {
            assert!(matches!(again("eve", name).await, Begin::Unknown), "it does not run again");
        }
        ended("eve", "last", 10).await;
        assert!(matches!(again("eve", "last").await, Begin::Replay(_)));
        let keys = memory.keys();
        let held: usize = keys.outcomes.of.values().map(|held| held.bytes).sum();
        assert_eq!((keys.entries.len(), keys.outcomes.bytes), (1003, held));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_no_key_to_lose_is_refused_until_one_is_over() {
        let memory = IdempotencyMemory::new(Duration::from_secs(60), 2);
        assert_eq!(ran(&memory, "ada", "a").await, Some(true));
        assert!(matches!(memory.begin(&key("ben", "a"), [0; 32]).await, Ok(Begin::Fresh)));
        assert_eq!(ran(&memory, "cem", "a").await, None);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(ran(&memory, "cem", "a").await, Some(true), "that of ada is over, that of ben still runs");
        assert_eq!(ran(&memory, "dan", "a").await, None);
        memory.settle(&key("ben", "a"), Settled::Free).await.unwrap();
        assert_eq!(ran(&memory, "dan", "a").await, Some(true));
        let keys = memory.keys();
        assert_eq!((keys.entries.len(), keys.order.len(), keys.of.len(), keys.sizes.len()), (2, 2, 2, 2));
    }
}
