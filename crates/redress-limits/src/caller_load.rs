//! How many callers there are, by who has called of late.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

/// What the load counts of one caller.
#[derive(Debug, Default)]
pub(crate) struct CallerLoad {
    /// Its calls in flight.
    pub(crate) calls: AtomicU32,
    /// The last second in which it called, the first of all being 1.
    seen: AtomicU32,
}

/// The callers of this second and of the one before. Whoever calls now and then is seldom in the middle of a call, and
/// its share is kept for it all the same.
#[derive(Debug, Default)]
pub(crate) struct ActiveCallers {
    second: AtomicU32,
    now: AtomicU32,
    before: AtomicU32,
}

impl ActiveCallers {
    /// Takes note that `own` calls, so long after the start. But for the first call of a second this is one look.
    pub(crate) fn note(&self, own: &CallerLoad, at: Duration) {
        let second = u32::try_from(at.as_secs() + 1).unwrap_or(u32::MAX);
        if own.seen.load(Relaxed) == second {
            return;
        }
        let turned = self.second.fetch_max(second, Relaxed);
        if turned < second {
            let callers = self.now.swap(0, Relaxed);
            self.before.store(if turned + 1 == second { callers } else { 0 }, Relaxed);
        }
        if own.seen.swap(second, Relaxed) != second {
            self.now.fetch_add(1, Relaxed);
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.now.load(Relaxed).max(self.before.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_counts_through_the_second_after_its_last_call() {
        let (active, callers) =
            (ActiveCallers::default(), [CallerLoad::default(), CallerLoad::default(), CallerLoad::default()]);
        let at = |ms| Duration::from_millis(ms);
        for own in &callers {
            active.note(own, at(100));
            active.note(own, at(200));
        }
        assert_eq!(active.count(), 3);
        active.note(&callers[0], at(1100));
        assert_eq!(active.count(), 3);
        active.note(&callers[0], at(2100));
        assert_eq!(active.count(), 1);
        active.note(&callers[1], at(9100));
        assert_eq!(active.count(), 1);
    }
}
