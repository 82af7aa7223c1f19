//! Records that are kept together, and the calls that wait for it.

use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

/// The calls that wait until their records are kept. One lock and one list for all of them: a channel for each call
/// would cost more than the record.
#[derive(Debug, Default)]
pub(crate) struct AuditBatch {
    done: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

/// A batch as its records hold it: when they go, kept or not, nobody waits for them any longer.
#[derive(Debug, Default)]
pub(crate) struct Awaited(Arc<AuditBatch>);

impl Awaited {
    /// A batch with room for as many calls as wait for another.
    pub(crate) fn as_many_as(other: &Awaited) -> Awaited {
        let waiting = Mutex::new(Vec::with_capacity(other.0.waiting().len()));
        Awaited(Arc::new(AuditBatch { done: AtomicBool::new(false), waiting }))
    }

    pub(crate) fn share(&self) -> Arc<AuditBatch> {
        Arc::clone(&self.0)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl AuditBatch {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waker>> {
        // A panic elsewhere cannot leave the list half changed, so poison says nothing here.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the calls be answered. It says how many still waited.
    pub(crate) fn release(&self) -> usize {
        // Under the lock, so that no waker is left behind by a call that has just looked.
        let waiting = {
            let mut waiting = self.waiting();
            self.done.store(true, Ordering::Release);
            mem::take(&mut *waiting)
        };
        let count = waiting.len();
        waiting.into_iter().for_each(Waker::wake);
        count
    }

    pub(crate) fn kept(self: Arc<AuditBatch>) -> BatchReleased {
        BatchReleased { batch: self, place: None }
    }
}

/// Resolves when the batch is released.
pub(crate) struct BatchReleased {
    batch: Arc<AuditBatch>,
    place: Option<usize>,
}

impl Future for BatchReleased {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let BatchReleased { batch, place } = self.get_mut();
        if batch.done.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let mut waiting = batch.waiting();
        if batch.done.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        match place.and_then(|place| waiting.get_mut(place)) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => {
                *place = Some(waiting.len());
                waiting.push(cx.waker().clone());
            }
        }
        Poll::Pending
    }
}
