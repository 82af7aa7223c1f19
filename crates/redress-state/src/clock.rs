//! The two clocks of a machine: the one on the wall, which may be set, and the one that only runs.
//!
//! Why so: docs/decisions/0021-three-clocks-for-what-ends.md.

use std::{
    fmt::Debug,
    time::{Duration, Instant, SystemTime},
};

/// The clocks that the state goes by.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The time of day. It may jump in either direction.
    fn wall(&self) -> SystemTime;

    /// How long the process runs. It never goes back.
    fn running(&self) -> Duration;
}

/// The clocks of the machine.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// Starts to run.
    pub fn new() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn running(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Milliseconds since 1970, as SQLite keeps them.
pub(crate) fn to_ms(time: SystemTime) -> i64 {
    ms(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

/// The time so many milliseconds after 1970.
pub(crate) fn from_ms(ms: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or_default());
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A duration in milliseconds, as SQLite keeps them.
pub(crate) fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
