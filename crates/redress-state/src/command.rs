//! What the writer is asked to do, beside keeping records.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use redress_core::{Begin, Fingerprint, HeldConsent, IdempotencyKey, Recorded, StoreError};
use tokio::sync::oneshot;

use crate::{consent_orders::ConsentOrder, quotas::Counting};

/// One piece of work, and who waits for it.
pub(crate) struct WriteCommand {
    pub(crate) work: WriteWork,
    pub(crate) reply: oneshot::Sender<Result<CommandReply, StoreError>>,
}

pub(crate) enum WriteWork {
    /// Claims a key, or tells what became of it.
    Begin { key: IdempotencyKey, input: Fingerprint, claim: i64 },
    /// Tells what became of a key.
    Peek { key: IdempotencyKey, input: Fingerprint },
    /// Gives a claimed key up.
    Free { key: IdempotencyKey, claim: i64 },
    /// Keeps what became of a claimed key.
    Settle { key: IdempotencyKey, claim: i64, outcome: Option<Arc<Recorded>> },
    /// Keeps a consent.
    Grant { consent: HeldConsent, order: u64 },
    /// Forgets a consent.
    Withdraw { caller: String, scope: String, order: u64 },
    /// Tells how many calls were counted.
    Used(Counting),
    /// Counts a call. The flag is set by whichever comes first: that it is counted, or that nobody waits for it.
    Count(Counting, Arc<AtomicBool>),
    /// Takes a call back that was counted and did not run.
    Uncount(Counting),
    /// Carries out what was ordered in the folder.
    Orders { order: u64 },
    /// Removes what is past its time.
    Upkeep,
}

impl WriteWork {
    /// Whether it is tried until it is kept. What has not begun yet is refused instead, so that its caller learns
    /// of the trouble at once.
    pub(crate) fn insists(&self) -> bool {
        match self {
            WriteWork::Free { .. }
            | WriteWork::Settle { .. }
            | WriteWork::Withdraw { .. }
            | WriteWork::Uncount(_)
            | WriteWork::Orders { .. } => true,
            WriteWork::Begin { .. }
            | WriteWork::Peek { .. }
            | WriteWork::Grant { .. }
            | WriteWork::Used(_)
            | WriteWork::Count(..)
            | WriteWork::Upkeep => false,
        }
    }
}

/// Somebody who waits for a job.
pub(crate) struct PendingReply(oneshot::Receiver<Result<CommandReply, StoreError>>);

impl WriteCommand {
    pub(crate) fn new(work: WriteWork) -> (WriteCommand, PendingReply) {
        let (reply, answer) = oneshot::channel();
        (WriteCommand { work, reply }, PendingReply(answer))
    }
}

impl PendingReply {
    /// What the writer says, however long it takes.
    pub(crate) async fn answer(self) -> Result<CommandReply, StoreError> {
        self.0.await.unwrap_or_else(|_| Err(StoreError::new("the state was closed")))
    }

    /// What the writer says, or that it has not said it in time. The job stays queued then.
    pub(crate) async fn within(self, patience: Duration) -> Result<CommandReply, StoreError> {
        let late = |_| Err(StoreError::new("it could not be kept in time"));
        tokio::time::timeout(patience, self.answer()).await.unwrap_or_else(late)
    }
}

/// What the writer says once the work is kept.
pub(crate) enum CommandReply {
    Done,
    /// What became of the key that was to be claimed.
    Begin(Begin),
    /// How many calls were counted of each; nothing for an address that is not told apart.
    Used(Vec<Option<u64>>),
    /// What was ordered and is kept now.
    Ordered(Vec<ConsentOrder>),
}
