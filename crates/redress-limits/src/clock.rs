//! The clock by which rates are counted: it stands where the call that asks has come, so that a call reads the time once.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use governor::{clock::Clock, nanos::Nanos};

/// A clock that is set by whoever asks. Two calls at the same moment may see the one's time or the other's.
#[derive(Debug, Default)]
pub(crate) struct CallClock(AtomicU64);

impl CallClock {
    /// It is so long after the start.
    pub(crate) fn set(&self, at: Duration) {
        self.0.store(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Clock for CallClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.load(Ordering::Relaxed).into()
    }
}
