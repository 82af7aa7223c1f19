//! How long things took, all of them kept, so that a percentile is one of them and no estimate.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub(crate) fn extend(&mut self, other: Latencies) {
        self.0.extend(other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time within which this share, of a thousand, of them were over.
    pub(crate) fn per_mille(&self, share: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * share).div_ceil(1000).max(1);
        sorted.get(rank - 1).copied().unwrap_or_default()
    }

    pub(crate) fn p50(&self) -> Duration {
        self.per_mille(500)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.per_mille(990)
    }
}

/// A time in milliseconds, for people.
pub(crate) fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// A size in MiB, for people.
pub(crate) fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib_as_mib(kib))
}

#[expect(clippy::cast_precision_loss, reason = "a process has less memory than a float has digits")]
fn kib_as_mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_time_within_which_that_share_was_over() {
        let mut latencies = Latencies::default();
        (1..=200).rev().for_each(|ms| latencies.push(Duration::from_millis(ms)));
        assert_eq!(latencies.p50(), Duration::from_millis(100));
        assert_eq!(latencies.p99(), Duration::from_millis(198));
        assert_eq!(latencies.per_mille(1000), Duration::from_millis(200));
        assert_eq!(Latencies::default().p99(), Duration::ZERO);
    }
}
