//! Idempotency keys: claimed in memory and in the file before the handler runs, and never claimed twice.

use std::sync::Arc;

use redress_core::{Begin, Fingerprint, IdempotencyKey, IdempotencyStore, Recorded, Settled, StoreError};
use tokio::sync::watch;

use crate::{
    command::{CommandReply, PendingReply, WriteWork},
    shared::{BoxFuture, StateInner},
};

/// A key in this process's hands.
pub(crate) struct HeldKey {
    input: Fingerprint,
    claim: i64,
    stage: StoredKeyStage,
    changed: watch::Sender<()>,
}

enum StoredKeyStage {
    Running,
    Ended(Arc<Recorded>),
    Lost,
}

/// What one look at a key tells.
enum KeyLookup {
    Answer(Begin),
    /// Another call has it, and something changes when that ends.
    Wait(watch::Receiver<()>),
    /// It is in nobody's hands in this process, and now in ours; what the file says is still to be asked.
    Claimed(i64),
}

/// What the writer says of a key.
fn begun(answer: CommandReply) -> Result<Begin, StoreError> {
    match answer {
        CommandReply::Begin(begin) => Ok(begin),
        CommandReply::Done | CommandReply::Used(_) | CommandReply::Ordered(_) => {
            Err(StoreError::new("the writer answered something else"))
        }
    }
}

/// The idempotency keys of a state.
pub(crate) struct StoredKeys(pub(crate) Arc<StateInner>);

impl StateInner {
    fn look(&self, key: &IdempotencyKey, input: Fingerprint) -> KeyLookup {
        let mut keys = self.keys();
        if let Some(held) = keys.get(key) {
            return match &held.stage {
                _ if held.input != input => KeyLookup::Answer(Begin::Conflict),
                StoredKeyStage::Running => KeyLookup::Wait(held.changed.subscribe()),
                StoredKeyStage::Ended(outcome) => KeyLookup::Answer(Begin::Replay(Arc::clone(outcome))),
                StoredKeyStage::Lost => KeyLookup::Answer(Begin::Unknown),
            };
        }
        let claim = self.next_claim();
        let held = HeldKey { input, claim, stage: StoredKeyStage::Running, changed: watch::Sender::new(()) };
        keys.insert(key.clone(), held);
        KeyLookup::Claimed(claim)
    }

    /// Takes a key into this process's hands, or tells what is known of it here. Another call may have it, which is waited
    /// for.
    async fn claimed(&self, key: &IdempotencyKey, input: Fingerprint) -> Result<Result<i64, Begin>, StoreError> {
        let claim = loop {
            match self.look(key, input) {
                KeyLookup::Answer(begin) => return Ok(Err(begin)),
                KeyLookup::Claimed(claim) => break claim,
                // The sender goes away when the key is given back; either way the next look tells.
                KeyLookup::Wait(mut changed) => {
                    let _ = changed.changed().await;
                }
            }
        };
        if !self.queue.is_open() {
            self.let_go(key, claim);
            return Err(StoreError::new("the state cannot be written right now"));
        }
        Ok(Ok(claim))
    }

    /// Lets go of a key that the file knows about.
    pub(crate) fn let_go(&self, key: &IdempotencyKey, claim: i64) {
        let mut keys = self.keys();
        if keys.get(key).is_some_and(|held| held.claim == claim) {
            keys.remove(key);
        }
    }
}

/// A claim that the file has not confirmed. Where that is all that comes of it, nothing has run, and the key is given
/// back; the file is told so too, as nobody knows how far a write came that failed.
struct Claiming<'a> {
    shared: &'a StateInner,
    key: &'a IdempotencyKey,
    claim: i64,
    settled: bool,
}

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        if !self.settled {
            // The writer takes jobs in order: whoever claims the key next comes after this.
            let freed = self.shared.queue.push(WriteWork::Free { key: self.key.clone(), claim: self.claim });
            drop(freed);
            self.shared.let_go(self.key, self.claim);
        }
    }
}

/// A claim that the file is not told of.
struct Peeking<'a> {
    shared: &'a StateInner,
    key: &'a IdempotencyKey,
    claim: i64,
}

impl Drop for Peeking<'_> {
    fn drop(&mut self) {
        self.shared.let_go(self.key, self.claim);
    }
}

impl IdempotencyStore for StoredKeys {
    fn begin<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>> {
        Box::pin(async move {
            let shared = &*self.0;
            let claim = match shared.claimed(key, input).await? {
                Ok(claim) => claim,
                Err(known) => return Ok(known),
            };
            let mut claiming = Claiming { shared, key, claim, settled: false };
            let answer = shared.queue.push(WriteWork::Begin { key: key.clone(), input, claim })?.answer().await?;
            claiming.settled = true;
            match begun(answer) {
                Ok(Begin::Fresh) => Ok(Begin::Fresh),
                known => {
                    shared.let_go(key, claim);
                    known
                }
            }
        })
    }

    fn peek<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>> {
        Box::pin(async move {
            let shared = &*self.0;
            // Claimed in memory alone, so that nobody begins between what memory says and what the file says.
            let claim = match shared.claimed(key, input).await? {
                Ok(claim) => claim,
                Err(known) => return Ok(known),
            };
            let _peeking = Peeking { shared, key, claim };
            begun(shared.queue.push(WriteWork::Peek { key: key.clone(), input })?.answer().await?)
        })
    }

    fn settle(&self, key: &IdempotencyKey, settled: Settled) -> BoxFuture<'static, Result<(), StoreError>> {
        let pushed = self.0.settle(key, settled);
        let patience = self.0.options.patience;
        Box::pin(async move {
            match pushed? {
                Some(waiting) => waiting.within(patience).await.map(|_| ()),
                None => Ok(()),
            }
        })
    }

    fn is_open(&self) -> bool {
        self.0.queue.is_open()
    }
}

impl StateInner {
    /// Takes what became of a key, in memory at once and in the queue.
    fn settle(&self, key: &IdempotencyKey, settled: Settled) -> Result<Option<PendingReply>, StoreError> {
        let mut keys = self.keys();
        let Some(held) = keys.get_mut(key) else { return Ok(None) };
        let claim = held.claim;
        let (work, stage) = match settled {
            Settled::Free => (WriteWork::Free { key: key.clone(), claim }, None),
            Settled::Lost => (WriteWork::Settle { key: key.clone(), claim, outcome: None }, Some(StoredKeyStage::Lost)),
            Settled::Outcome(outcome) => {
                // It may be large, so it is written by the thread that keeps it.
                let outcome = Arc::new(outcome);
                let work = WriteWork::Settle { key: key.clone(), claim, outcome: Some(Arc::clone(&outcome)) };
                (work, Some(StoredKeyStage::Ended(outcome)))
            }
        };
        // Still under the lock: whoever looks next finds the job in the queue before its own.
        let pushed = self.queue.push(work);
        match stage {
            Some(stage) => {
                held.stage = stage;
                held.changed.send_replace(());
            }
            None => drop(keys.remove(key)),
        }
        pushed.map(Some)
    }
}
