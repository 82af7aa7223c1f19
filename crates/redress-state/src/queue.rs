//! What waits for the writer: records as one text, and jobs. Pushing takes a short lock and no other wait.
//!
//! Why so: docs/decisions/0020-the-audit-is-kept-in-batches.md.

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use redress_core::StoreError;
use tokio::sync::Notify;

use crate::{
    audit_batch::{AuditBatch, Awaited},
    command::{PendingReply, WriteCommand, WriteWork},
};

/// From this size on a text is a row of its own.
const ROW: usize = 256 << 10;

/// Records that become one row.
pub(crate) struct RecordRow {
    /// A JSON array.
    pub(crate) text: Arc<str>,
    pub(crate) about: About,
}

/// What is known of the records of one row.
#[derive(Default)]
pub(crate) struct About {
    pub(crate) count: i64,
    pub(crate) first_ms: i64,
    pub(crate) last_ms: i64,
    /// When the first of them came, in running time.
    pub(crate) since: Duration,
    pub(crate) batch: Awaited,
}

/// What the writer takes at once.
#[derive(Default)]
pub(crate) struct WriteBatch {
    pub(crate) rows: Vec<RecordRow>,
    pub(crate) commands: Vec<WriteCommand>,
}

/// How much waits for the writer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub(crate) records: i64,
    pub(crate) commands: usize,
}

impl WriteBatch {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.commands.is_empty()
    }

    /// How many records are in it.
    pub(crate) fn records(&self) -> i64 {
        self.rows.iter().map(|row| row.about.count).sum()
    }
}

#[derive(Default)]
struct Pending {
    full: VecDeque<RecordRow>,
    /// The row that is being filled, a JSON array that is not closed. It keeps its room from row to row.
    text: String,
    about: About,
    commands: Vec<WriteCommand>,
    closed: bool,
}

impl Pending {
    /// Ends the row that is being filled.
    fn seal(&mut self) {
        self.text.push(']');
        let text = Arc::from(self.text.as_str());
        self.text.clear();
        let next = About { batch: Awaited::as_many_as(&self.about.batch), ..About::default() };
        self.full.push_back(RecordRow { text, about: mem::replace(&mut self.about, next) });
    }
}

/// What waits for the writer.
pub(crate) struct WriteQueue {
    pending: Mutex<Pending>,
    pub(crate) wake: Notify,
    /// How many bytes of records wait, those in the writer's hands included.
    bytes: AtomicUsize,
    max_bytes: usize,
    /// Whether the last attempt to write failed.
    failing: AtomicBool,
    /// Whether the file is not where it was.
    lost: AtomicBool,
    closed: AtomicBool,
    /// How many answers were given before their records were kept.
    late: AtomicU64,
}

impl WriteQueue {
    pub(crate) fn new(max_bytes: usize) -> WriteQueue {
        WriteQueue {
            pending: Mutex::default(),
            wake: Notify::new(),
            bytes: AtomicUsize::new(0),
            max_bytes,
            failing: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            late: AtomicU64::new(0),
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // A panic elsewhere cannot leave the lists half changed, so a lock without poison will do.
        self.pending.lock()
    }

    /// Whether what is pushed now will be kept soon.
    pub(crate) fn is_open(&self) -> bool {
        !self.failing.load(Ordering::Relaxed)
            && !self.is_lost()
            && !self.closed.load(Ordering::Relaxed)
            && self.bytes.load(Ordering::Relaxed) < self.max_bytes
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Says whether writing works.
    pub(crate) fn set_failing(&self, failing: bool) {
        self.failing.store(failing, Ordering::Relaxed);
    }

    /// Says whether the file is where it was.
    pub(crate) fn set_lost(&self, lost: bool) {
        self.lost.store(lost, Ordering::Relaxed);
    }

    /// Whether what is written now would be nowhere.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Adds one record, which `write` appends as JSON. Nothing comes back where the queue is closed.
    pub(crate) fn record(
        &self,
        at_ms: i64,
        now: impl FnOnce() -> Duration,
        write: impl FnOnce(&mut String),
    ) -> Option<Arc<AuditBatch>> {
        let mut pending = self.pending();
        if pending.closed {
            return None;
        }
        let Pending { text, about, .. } = &mut *pending;
        let before = text.len();
        let first = about.count == 0;
        text.push(if first { '[' } else { ',' });
        write(text);
        if first {
            (about.first_ms, about.last_ms, about.since) = (at_ms, at_ms, now());
        }
        about.first_ms = about.first_ms.min(at_ms);
        about.last_ms = about.last_ms.max(at_ms);
        about.count += 1;
        let batch = about.batch.share();
        let after = text.len();
        self.bytes.fetch_add(after - before, Ordering::Relaxed);
        if after >= ROW {
            pending.seal();
        }
        drop(pending);
        // The writer takes all there is when it wakes, so only the first needs to wake it.
        if first {
            self.wake.notify_one();
        }
        Some(batch)
    }

    /// Adds a job. What comes back resolves once it is kept, or has failed.
    pub(crate) fn push(&self, work: WriteWork) -> Result<PendingReply, StoreError> {
        let (command, waiting) = WriteCommand::new(work);
        let mut pending = self.pending();
        if pending.closed {
            return Err(StoreError::new("the state is closed"));
        }
        pending.commands.push(command);
        drop(pending);
        self.wake.notify_one();
        Ok(waiting)
    }

    /// How much waits.
    pub(crate) fn waiting(&self) -> Backlog {
        let pending = self.pending();
        let records = pending.full.iter().map(|row| row.about.count).sum::<i64>() + pending.about.count;
        Backlog { records, commands: pending.commands.len() }
    }

    /// Takes all that waits.
    pub(crate) fn take(&self) -> WriteBatch {
        let mut pending = self.pending();
        if pending.about.count > 0 {
            pending.seal();
        }
        WriteBatch { rows: mem::take(&mut pending.full).into(), commands: mem::take(&mut pending.commands) }
    }

    /// Takes note that records are kept.
    pub(crate) fn kept(&self, rows: &[RecordRow]) {
        let bytes = rows.iter().map(|row| row.text.len().saturating_sub(1)).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Answers the calls whose records have waited since before `then`, in hand or not.
    pub(crate) fn release_before(&self, in_hand: &[RecordRow], then: Duration) {
        let waiting: Vec<Arc<AuditBatch>> = {
            let mut pending = self.pending();
            if pending.about.count > 0 && pending.about.since <= then {
                // What comes next waits on its own.
                pending.seal();
            }
            let all = in_hand.iter().chain(&pending.full);
            all.filter(|row| row.about.since <= then).map(|row| row.about.batch.share()).collect()
        };
        let late: usize = waiting.iter().map(|batch| batch.release()).sum();
        if late > 0 {
            self.late.fetch_add(u64::try_from(late).unwrap_or(u64::MAX), Ordering::Relaxed);
            tracing::error!(calls = late, "calls are answered before their records are kept");
        }
    }

    /// Takes nothing more.
    pub(crate) fn close(&self) {
        self.pending().closed = true;
        self.closed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}
