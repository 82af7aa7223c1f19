//! The memory that makes repeating a call safe.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use redress_contract::{Name, Output, Problem};
use sha2::{Digest as _, Sha256};
use tokio::{sync::watch, time::Instant};

use crate::handler::BoxFuture;

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

/// A digest of an input.
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
    /// The key is new: run, then `complete` or `abandon`.
    Fresh,
    /// The same call has ended before.
    Replay(Recorded),
    /// The key came with another input.
    Conflict,
}

/// Where idempotency keys are kept.
pub trait IdempotencyStore: Send + Sync + 'static {
    /// Claims the key. While the same call is still running elsewhere this waits for it.
    fn begin<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Begin>;

    /// Keeps the outcome under the key.
    fn complete(&self, key: &IdempotencyKey, outcome: Recorded);

    /// Gives the key up: the call left no outcome worth repeating.
    fn abandon(&self, key: &IdempotencyKey);
}

pub(crate) fn fingerprint(input: &[u8]) -> Fingerprint {
    Sha256::digest(input).into()
}

/// Keys kept in memory, bounded in number and time.
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
    outcome: Option<Recorded>,
    ended: watch::Sender<()>,
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

    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<IdempotencyKey, Entry>> {
        // A panic elsewhere cannot leave the map half changed, so poison says nothing here.
        self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn make_room(&self, entries: &mut HashMap<IdempotencyKey, Entry>) {
        if entries.len() < self.at_most {
            return;
        }
        let now = Instant::now();
        entries.retain(|_, entry| entry.outcome.is_none() || now.duration_since(entry.since) < self.lasts);
        while entries.len() >= self.at_most {
            let oldest =
                entries.iter().filter(|(_, entry)| entry.outcome.is_some()).min_by_key(|(_, entry)| entry.since);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            entries.remove(&key);
        }
    }

    /// One look at the key: an answer, or what to wait for.
    fn look(&self, key: &IdempotencyKey, input: Fingerprint) -> Result<Begin, watch::Receiver<()>> {
        let mut entries = self.entries();
        match entries.get(key) {
            Some(entry) if entry.outcome.is_some() && entry.since.elapsed() >= self.lasts => {
                entries.remove(key);
            }
            Some(entry) if entry.input != input => return Ok(Begin::Conflict),
            Some(entry) => {
                return match &entry.outcome {
                    Some(outcome) => Ok(Begin::Replay(outcome.clone())),
                    None => Err(entry.ended.subscribe()),
                };
            }
            None => {}
        }
        self.make_room(&mut entries);
        let entry = Entry { input, since: Instant::now(), outcome: None, ended: watch::Sender::new(()) };
        entries.insert(key.clone(), entry);
        Ok(Begin::Fresh)
    }
}

impl IdempotencyStore for IdempotencyMemory {
    fn begin<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Begin> {
        Box::pin(async move {
            loop {
                match self.look(key, input) {
                    Ok(answer) => return answer,
                    // The sender goes away when the first call is abandoned; either way
                    // the next look tells.
                    Err(mut ended) => {
                        let _ = ended.changed().await;
                    }
                }
            }
        })
    }

    fn complete(&self, key: &IdempotencyKey, outcome: Recorded) {
        if let Some(entry) = self.entries().get_mut(key) {
            entry.outcome = Some(outcome);
            entry.ended.send_replace(());
        }
    }

    fn abandon(&self, key: &IdempotencyKey) {
        self.entries().remove(key);
    }
}
