//! The order in which the calls of one batch take room: what is held by an answer that cannot be given yet must not be
//! what an earlier one waits for.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;
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
    /// Whether a call waits for its turn: most batches have none.
    awaited: bool,
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
        let mut ended = self.ended.lock();
        if number != ended.first {
            ended.later.insert(number);
            return;
        }
        ended.first += 1;
        while let Some(next) = ended.later.first().copied().filter(|next| *next == ended.first) {
            ended.later.remove(&next);
            ended.first += 1;
        }
        let awaited = std::mem::take(&mut ended.awaited);
        drop(ended);
        if awaited {
            self.moved.notify_waiters();
        }
    }
}

impl BatchSlot {
    pub(super) fn new(order: &Arc<BatchOrder>, number: usize) -> BatchSlot {
        BatchSlot { order: Arc::clone(order), number }
    }

    pub(super) fn is_first(&self) -> bool {
        self.order.ended.lock().first >= self.number
    }

    /// Resolves when every call before this one has ended.
    pub(super) async fn first(&self) {
        loop {
            let mut moved = pin!(self.order.moved.notified());
            moved.as_mut().enable();
            {
                let mut ended = self.order.ended.lock();
                if ended.first >= self.number {
                    return;
                }
                ended.awaited = true;
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
