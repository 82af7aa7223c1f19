//! How much blocking work runs at once. The threads for it are the process's own and bounded, so one caller whose
//! files are slow, or who does not read what it searches for, must not take them all.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::available_parallelism,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many pieces of work of one caller run at once, at least: as many as there are cores, where there are more. Each
/// has a thread, and the allocator keeps what the largest of its buffers took for as long as the thread is there.
const EACH: usize = 4;
/// How many callers run as many as they may at once.
const CALLERS: usize = 4;

/// Who may run blocking work, and how much of it.
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    each: usize,
    callers: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// One place, given back when it is dropped. It goes along into the blocking thread: a call that is cut off does not
/// end what runs there.
pub(crate) struct Slot {
    // Dropped in this order: the caller's own place is free before its entry is looked at.
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
    _known: CallerSlots,
}

/// That a caller has an entry, whether it waits or works. The last of its kind takes the entry away.
struct CallerSlots {
    slots: Arc<Slots>,
    caller: String,
    own: Option<Arc<Semaphore>>,
}

impl Default for Slots {
    fn default() -> Slots {
        let each = available_parallelism().map_or(EACH, |cores| cores.get().max(EACH));
        Slots::new(each * CALLERS, each)
    }
}

impl Slots {
    fn new(all: usize, each: usize) -> Slots {
        Slots { all: Arc::new(Semaphore::new(all)), each, callers: Mutex::default() }
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<String, Arc<Semaphore>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place: first for one of the caller's own, so that whoever has them all waits for nobody but itself.
    pub(crate) async fn take(self: &Arc<Slots>, caller: &str) -> Slot {
        let own = {
            let mut callers = self.callers();
            Arc::clone(callers.entry(caller.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.each))))
        };
        // Before the first wait, since a call may be cut off in any.
        let known = CallerSlots { slots: Arc::clone(self), caller: caller.to_owned(), own: Some(Arc::clone(&own)) };
        let closed = "a semaphore that nobody closes";
        let own = own.acquire_owned().await.expect(closed);
        let all = Arc::clone(&self.all).acquire_owned().await.expect(closed);
        Slot { _own: own, _all: all, _known: known }
    }
}

impl Drop for CallerSlots {
    fn drop(&mut self) {
        let mut callers = self.slots.callers();
        self.own = None;
        // Whoever waits or works holds it as well.
        if callers.get(&self.caller).is_some_and(|own| Arc::strong_count(own) == 1) {
            callers.remove(&self.caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_has_taken_all_of_its_own_places_waits_and_nobody_else_does() {
        let slots = Arc::new(Slots::new(4, 2));
        let eve = [slots.take("eve").await, slots.take("eve").await];
        let mut third = Box::pin(slots.take("eve"));
        assert!(futures_util::poll!(&mut third).is_pending());
        let ada = slots.take("ada").await;
        drop(eve);
        drop(third.await);
        drop(ada);
        assert_eq!((slots.all.available_permits(), slots.callers().len()), (4, 0));
    }

    #[tokio::test]
    async fn who_is_cut_off_while_it_waits_leaves_nothing_behind() {
        let slots = Arc::new(Slots::new(1, 1));
        let ada = slots.take("ada").await;
        for caller in ["eve", "mallory", "ada"] {
            let mut waiting = Box::pin(slots.take(caller));
            assert!(futures_util::poll!(&mut waiting).is_pending());
            drop(waiting);
        }
        assert_eq!(slots.callers().len(), 1, "the one who works");
        drop(ada);
        assert_eq!((slots.all.available_permits(), slots.callers().len()), (1, 0));
    }
}
