//! The order in which the calls of one batch take room: what is held by an answer that cannot be given yet must not be
//! what an earlier one waits for.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use tokio::sync::Notify;

/// How many bytes of one batch may be charged for answers that an earlier one of the batch holds up.
pub(super) const AHEAD: usize = 1024 * 1024;

/// The calls of one batch, whose answers are given in their order.
#[derive(Debug, Default)]
pub struct BatchOrder {
    ended: Mutex<EndedCalls>,
    moved: Notify,
    ahead: AtomicUsize,
}

#[derive(Debug, Default)]
struct EndedCalls {
    /// The first call that has not ended.
    first: usize,
    /// Those behind it that have.
    later: BTreeSet<usize>,
}

/// The place of a call in its batch.
#[derive(Clone, Debug)]
pub(super) struct BatchSlot {
    order: Arc<BatchOrder>,
    number: usize,
}

impl BatchOrder {
    /// Says that the call of this place has ended, and what it needed is charged.
    pub fn ended(&self, number: usize) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if number != ended.first {
            ended.later.insert(number);
            return;
        }
        ended.first += 1;
        while let Some(next) = ended.later.first().copied().filter(|next| *next == ended.first) {
            ended.later.remove(&next);
            ended.first += 1;
        }
        drop(ended);
        self.moved.notify_waiters();
    }
}

impl BatchSlot {
    pub(super) fn new(order: &Arc<BatchOrder>, number: usize) -> BatchSlot {
        BatchSlot { order: Arc::clone(order), number }
    }

    pub(super) fn is_first(&self) -> bool {
        self.order.ended.lock().unwrap_or_else(PoisonError::into_inner).first >= self.number
    }

    /// Resolves when every call before this one has ended.
    pub(super) async fn first(&self) {
        loop {
            let mut moved = pin!(self.order.moved.notified());
            moved.as_mut().enable();
            if self.is_first() {
                return;
            }
            moved.await;
        }
    }

    /// Counts `bytes` as charged ahead of their turn, if there may be so many.
    pub(super) fn ahead(&self, bytes: usize) -> bool {
        let more = |ahead: usize| ahead.checked_add(bytes).filter(|ahead| *ahead <= AHEAD);
        self.order.ahead.fetch_update(Relaxed, Relaxed, more).is_ok()
    }
}
