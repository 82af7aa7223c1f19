//! How long the server's worker was at work without yielding, as the server itself sees it.
//!
//! A task beats once a millisecond. Between two beats it adds up the processor time of the thread that it runs on: with
//! one worker that is the time for which no other task could run, and what other processes take of the machine does not
//! count.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
    time::Duration,
};

use parking_lot::Mutex;
use redress::{Outcome, State, data, operation};
use rustix::time::{ClockId, clock_gettime};

const BEAT: Duration = Duration::from_millis(1);
/// The upper ends of the rows of the histogram, in microseconds; the last row has none.
pub(crate) const ROWS: [u64; 7] = [500, 1_000, 2_000, 5_000, 10_000, 50_000, 500_000];

/// Looks at how long nothing else could run.
#[derive(Default)]
pub(crate) struct Watchdog {
    beating: AtomicBool,
    stalls: Mutex<Stalls>,
}

/// What was seen since it was last asked.
#[data]
#[derive(Clone, Default)]
pub(crate) struct Stalls {
    /// The longest time between two beats that the worker was at work, in microseconds.
    longest_us: u64,
    beats: u64,
    /// How many of them took how long.
    histogram: Vec<u64>,
}

impl Stalls {
    fn note(&mut self, us: u64) {
        self.longest_us = self.longest_us.max(us);
        self.beats += 1;
        self.histogram.resize(ROWS.len() + 1, 0);
        let row = ROWS.iter().position(|end| us <= *end).unwrap_or(ROWS.len());
        if let Some(count) = self.histogram.get_mut(row) {
            *count += 1;
        }
    }
}

impl Watchdog {
    fn start(self: &Arc<Watchdog>) {
        if !self.beating.swap(true, Ordering::AcqRel) {
            tokio::spawn(Arc::clone(self).beat());
        }
    }

    async fn beat(self: Arc<Watchdog>) {
        let mut last: Option<(ThreadId, Duration)> = None;
        loop {
            tokio::time::sleep(BEAT).await;
            let now = (thread::current().id(), used());
            // The time of two threads says nothing together.
            if let Some((_, before)) = last.filter(|(thread, _)| *thread == now.0) {
                let us = u64::try_from(now.1.saturating_sub(before).as_micros()).unwrap_or(u64::MAX);
                self.stalls.lock().note(us);
            }
            last = Some((now.0, used()));
        }
    }
}

/// The processor time of this thread.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (secs, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(secs, nanos)
}

/// Tell the longest stalls since the last time, and begin anew.
#[operation(query, name = "soak.stalls", access(scopes = "soak"))]
pub(crate) async fn stalls(watchdog: State<Arc<Watchdog>>) -> Outcome<Stalls> {
    watchdog.start();
    Ok(std::mem::take(&mut *watchdog.stalls.lock()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_counts_in_the_row_that_it_ends_in() {
        let mut stalls = Stalls::default();
        [0, 500, 501, 600_000].into_iter().for_each(|us| stalls.note(us));
        assert_eq!((stalls.longest_us, stalls.beats), (600_000, 4));
        assert_eq!(stalls.histogram, [2, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[tokio::test]
    async fn work_without_a_pause_is_seen_and_waiting_is_not() {
        let watchdog = Arc::new(Watchdog::default());
        watchdog.start();
        let seen = async || loop {
            tokio::time::sleep(BEAT).await;
            let stalls = std::mem::take(&mut *watchdog.stalls.lock());
            if stalls.beats > 0 {
                return stalls;
            }
        };
        seen().await;
        let since = used();
        while used() - since < Duration::from_millis(50) {}
        assert!(seen().await.longest_us >= 50_000);
    }
}
