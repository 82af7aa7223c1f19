//! What an operator decides about the state.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sqlx::sqlite::SqliteSynchronous;

use crate::{Clock, SystemClock};

/// What something has to outlive before it counts as kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// A loss of power: the disk has it.
    #[default]
    Full,
    /// The death of the process: the system has it, and a loss of power may take the last moments.
    Normal,
}

impl Sync {
    pub(crate) fn pragma(self) -> SqliteSynchronous {
        match self {
            Sync::Full => SqliteSynchronous::Full,
            Sync::Normal => SqliteSynchronous::Normal,
        }
    }
}

/// Where the state is, and how it is kept.
///
/// ```
/// use std::time::Duration;
/// use redress_state::{StateOptions, Sync};
///
/// let options = StateOptions::new("state")
///     .sync(Sync::Normal)
///     .keys_last(Duration::from_secs(60 * 60))
///     .retention(Duration::from_secs(30 * 24 * 60 * 60));
/// assert_eq!(options.folder().to_str(), Some("state"));
/// ```
#[derive(Clone, Debug)]
pub struct StateOptions {
    pub(crate) folder: PathBuf,
    pub(crate) sync: Sync,
    pub(crate) keys_last: Duration,
    pub(crate) retention: Duration,
    pub(crate) max_queue: usize,
    pub(crate) patience: Duration,
    pub(crate) clock: Arc<dyn Clock>,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl StateOptions {
    /// The state in `folder`, which is made if need be: keys last a day, the audit ninety, and what is kept outlives
    /// a loss of power.
    pub fn new(folder: impl Into<PathBuf>) -> StateOptions {
        StateOptions {
            folder: folder.into(),
            sync: Sync::Full,
            keys_last: DAY,
            retention: 90 * DAY,
            max_queue: 16 << 20,
            patience: Duration::from_secs(5),
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets what something has to outlive before it counts as kept.
    #[must_use]
    pub fn sync(mut self, sync: Sync) -> StateOptions {
        self.sync = sync;
        self
    }

    /// Sets for how long an idempotency key is known. It is counted while the service runs, so that a clock which is
    /// set wrong cannot make a key work twice.
    #[must_use]
    pub fn keys_last(mut self, lasts: Duration) -> StateOptions {
        self.keys_last = lasts;
        self
    }

    /// Sets for how long the records of the audit are kept.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> StateOptions {
        self.retention = retention;
        self
    }

    /// Sets how many bytes of records may wait to be kept before the state is closed to new calls.
    #[must_use]
    pub fn max_queue(mut self, bytes: usize) -> StateOptions {
        self.max_queue = bytes;
        self
    }

    /// Sets how long an answer waits until its record is kept. Past that it is given, and the record stays queued.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> StateOptions {
        self.patience = patience;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> StateOptions {
        self.clock = clock;
        self
    }
}
