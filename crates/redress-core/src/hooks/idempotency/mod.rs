//! What makes repeating a call safe: a key works at most once. Where keys are kept, and what they are.

mod memory;

use std::sync::Arc;

use redress_contract::{Name, OutputJson, Problem};
use sha2::{Digest as _, Sha256};

pub use memory::IdempotencyMemory;

use crate::{StoreError, author::handler::BoxFuture};

/// What tells two calls with an idempotency key apart: another caller's key is another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    /// Who calls. For the anonymous it is the address that they come from, behind a zero byte, which no id begins with;
    /// nothing where that is not known.
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
    Output(OutputJson),
    /// It ended with a failure that a repetition cannot change.
    Problem(Box<Problem>),
}

/// What the store says to a call that is about to start.
#[derive(Clone, Debug)]
pub enum Begin {
    /// The key is new: run, then [`settle`](IdempotencyStore::settle).
    Fresh,
    /// The same call has ended before.
    Replay(Arc<Recorded>),
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
    fn begin<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>>;

    /// What `begin` would say now, without claiming the key: [`Begin::Fresh`] means that nobody has it. It is asked for a
    /// call that may have the outcome of an earlier one and nothing else, such as one whose quota is used up. A store that
    /// can tell this without a write should: whoever has nothing left could have it write for ever.
    fn peek<'a>(&'a self, key: &'a IdempotencyKey, input: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>> {
        Box::pin(async move {
            let begin = self.begin(key, input).await?;
            if let Begin::Fresh = begin {
                self.settle(key, Settled::Free).await?;
            }
            Ok(begin)
        })
    }

    /// Says what became of the call that claimed the key. It is taken at once, so that a call which is cut off can
    /// say so without waiting; the future tells when it is kept. A store that cannot keep it counts the key as lost.
    fn settle(&self, key: &IdempotencyKey, settled: Settled) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Whether keys can be claimed.
    fn is_open(&self) -> bool {
        true
    }
}

pub(crate) fn fingerprint(input: &[u8]) -> Fingerprint {
    Sha256::digest(input).into()
}
