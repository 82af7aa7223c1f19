//! A running mean of durations that many threads add to.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// A running mean: the first durations weigh alike, and later each one a sixteenth.
///
/// Two threads that add at the same moment may lose one of the two, which no mean of many notices.
#[derive(Debug, Default)]
pub(crate) struct Mean {
    nanos: AtomicU64,
    added: AtomicU64,
}

impl Mean {
    const MIN_WEIGHT: u64 = 16;
    /// So many durations make a mean that can be relied on.
    const MEASURED: u64 = 8;

    pub(crate) fn add(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let added = self.added.load(Ordering::Relaxed);
        let weight = (added + 1).min(Self::MIN_WEIGHT);
        let mean = self.nanos.load(Ordering::Relaxed);
        let next = mean - mean / weight + nanos / weight;
        self.nanos.store(next.max(1), Ordering::Relaxed);
        if added < Self::MIN_WEIGHT {
            self.added.store(added + 1, Ordering::Relaxed);
        }
    }

    /// The mean so far.
    pub(crate) fn get(&self) -> Option<Duration> {
        let added = self.added.load(Ordering::Relaxed);
        (added > 0).then(|| Duration::from_nanos(self.nanos.load(Ordering::Relaxed)))
    }

    /// The mean, once there is enough of it.
    pub(crate) fn measured(&self) -> Option<Duration> {
        self.get().filter(|_| self.added.load(Ordering::Relaxed) >= Self::MEASURED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_durations_weigh_alike() {
        let mean = Mean::default();
        assert_eq!(mean.get(), None);
        for ms in [10, 20, 30] {
            mean.add(Duration::from_millis(ms));
        }
        let ms = mean.get().unwrap().as_secs_f64() * 1e3;
        assert!((ms - 20.0).abs() < 0.001, "{ms}");
        assert_eq!(mean.measured(), None);
    }

    #[test]
    fn a_mean_follows_what_has_changed() {
        let mean = Mean::default();
        for _ in 0..100 {
            mean.add(Duration::from_millis(10));
        }
        for _ in 0..100 {
            mean.add(Duration::from_millis(30));
        }
        assert!(mean.measured().unwrap() > Duration::from_millis(29));
    }
}
