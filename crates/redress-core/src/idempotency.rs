//! The memory that makes repeating a call safe: a key works at most once.

use std::{
    collections::HashMap,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redress_contract::{Name, Output, Problem};
use sha2::{Digest as _, Sha256};
use tokio::{sync::watch, time::Instant};

use crate::{StoreBroken, handler::BoxFuture};

/// What tells two calls with an idempotency key apart: another caller's key is another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    /// Who calls.
    pub caller: String,
    /// What is called.
    pub operation: Name,
    /// The caller's own key.
    pub key: Arc<str>,
}

/// A digest of an input: its SHA-256.
pub type Fingerprint = [u8; 32];

/// The outcome that a repeated call gets again.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// It ended well.
    Output(Output),
    /// It ended with a failure that a repetition cannot change.
    Problem(Box<Problem>),
}

/// What the store says to a call that is about to start.
#[derive(Clone, Debug)]
pub enum Begin {
    /// The key is new: run, then [`settle`](IdempotencyStore::settle).
    Fresh,
    /// The same call has ended before.
    Replay(Recorded),
    /// The key came with another input.
    Conflict,
    /// The same call has started before, and nobody knows how it ended. It never runs again.
    Unknown,
}

/// What became of a call that had claimed its key.
#[derive(Clone, Debug)]
pub enum Settled {
    /// It has an outcome, which every repetition gets.
    Outcome(Recorded),
    /// It changed nothing, and a repetition may run.
    Free,
    /// It was cut off, and nobody knows what it did.
    Lost,
}

/// Where idempotency keys are kept.
pub trait IdempotencyStore: Send + Sync + 'static {
    /// Claims the key, and has kept that when it says [`Begin::Fresh`]: should the process die from here on, the key
    /// is [`Begin::Unknown`] to the next one. While the same call is still running elsewhere this waits for it. Where
    /// the future is dropped before it has answered, nothing has run, and the key stays as it was.
    fn begin<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreBroken>>;

    /// Says what became of the call that claimed the key. It is taken at once, so that a call which is cut off can
    /// say so without waiting; the future tells when it is kept. A store that cannot keep it counts the key as lost.
    fn settle(&self, key: &IdempotencyKey, settled: Settled) -> BoxFuture<'static, Result<(), StoreBroken>>;

    /// Whether keys can be claimed.
    fn is_open(&self) -> bool {
        true
    }
}

pub(crate) fn fingerprint(input: &[u8]) -> Fingerprint {
    Sha256::digest(input).into()
}

/// Keys kept in memory, bounded in number and time, gone with the process.
#[derive(Debug)]
pub struct IdempotencyMemory {
    entries: Mutex<HashMap<IdempotencyKey, Entry>>,
    lasts: Duration,
    at_most: usize,
}

#[derive(Debug)]
struct Entry {
    input: Fingerprint,
    since: Instant,
    stage: Stage,
    ended: watch::Sender<()>,
}

#[derive(Debug)]
enum Stage {
    Running,
    Ended(Recorded),
    Lost,
}

impl Entry {
    fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running)
    }
}

impl Default for IdempotencyMemory {
    fn default() -> IdempotencyMemory {
        IdempotencyMemory::new(Duration::from_secs(24 * 60 * 60), 100_000)
    }
}

impl IdempotencyMemory {
    /// Keys that last so long, and at most so many of them; past that the oldest ended
    /// ones are forgotten first.
    pub fn new(lasts: Duration, at_most: usize) -> IdempotencyMemory {
        IdempotencyMemory { entries: Mutex::default(), lasts, at_most }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<IdempotencyKey, Entry>> {
        // A panic elsewhere cannot leave the map half changed, so poison says nothing here.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_room(&self, entries: &mut HashMap<IdempotencyKey, Entry>) {
        if entries.len() < self.at_most {
            return;
        }
        let now = Instant::now();
        entries.retain(|_, entry| entry.is_running() || now.duration_since(entry.since) < self.lasts);
        while entries.len() >= self.at_most {
            let oldest = entries.iter().filter(|(_, entry)| !entry.is_running()).min_by_key(|(_, entry)| entry.since);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            entries.remove(&key);
        }
    }

    /// One look at the key: an answer, or what to wait for.
    fn look(&self, key: &IdempotencyKey, input: Fingerprint) -> Result<Begin, watch::Receiver<()>> {
        let mut entries = self.entries();
        match entries.get(key) {
            Some(entry) if !entry.is_running() && entry.since.elapsed() >= self.lasts => {
                entries.remove(key);
            }
            Some(entry) if entry.input != input => return Ok(Begin::Conflict),
            Some(entry) => {
                return match &entry.stage {
                    Stage::Running => Err(entry.ended.subscribe()),
                    Stage::Ended(outcome) => Ok(Begin::Replay(outcome.clone())),
                    Stage::Lost => Ok(Begin::Unknown),
                };
            }
            None => {}
        }
        self.make_room(&mut entries);
        let entry = Entry { input, since: Instant::now(), stage: Stage::Running, ended: watch::Sender::new(()) };
        entries.insert(key.clone(), entry);
        Ok(Begin::Fresh)
    }
}

impl IdempotencyStore for IdempotencyMemory {
    fn begin<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreBroken>> {
        Box::pin(async move {
            loop {
                match self.look(key, input) {
                    Ok(answer) => return Ok(answer),
                    // The sender goes away when the first call frees its key; either way
                    // the next look tells.
                    Err(mut ended) => {
                        let _ = ended.changed().await;
                    }
                }
            }
        })
    }

    fn settle(&self, key: &IdempotencyKey, settled: Settled) -> BoxFuture<'static, Result<(), StoreBroken>> {
        let mut entries = self.entries();
        let stage = match settled {
            Settled::Outcome(outcome) => Some(Stage::Ended(outcome)),
            Settled::Lost => Some(Stage::Lost),
            Settled::Free => None,
        };
        match (stage, entries.get_mut(key)) {
            (Some(stage), Some(entry)) => {
                entry.stage = stage;
                entry.ended.send_replace(());
            }
            (None, Some(_)) => {
                entries.remove(key);
            }
            (_, None) => {}
        }
        Box::pin(ready(Ok(())))
    }
}
