//! What a handler tells its caller while it is still at work: how far it is, and what it notes.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

use crate::Ctx;

/// How far a call has come.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done, in any unit. It grows with every report.
    pub done: f64,
    /// How much there is to do, where that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

impl Progress {
    /// So much is done, of nobody knows how much.
    pub fn new(done: f64) -> Progress {
        Progress { done, total: None, message: None }
    }

    /// Says how much there is to do.
    #[must_use]
    pub fn of(mut self, total: f64) -> Progress {
        self.total = Some(total);
        self
    }

    /// Says what is being done.
    #[must_use]
    pub fn saying(mut self, message: impl Into<String>) -> Progress {
        self.message = Some(message.into());
        self
    }
}

/// How much a note matters, from the least on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For whoever looks for a mistake.
    Debug,
    /// Nothing unusual.
    Info,
    /// Usual, and worth knowing.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part of the service is broken.
    Critical,
    /// Somebody has to act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// What a handler notes for its caller. It leaves the service as it is, so it must hold
/// nothing that the caller may not see.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// The operation that notes it, if it can be called from outside.
    pub operation: Option<String>,
    /// What it notes: a text, or any other value.
    pub data: Value,
}

/// Who is told by a handler while it is at work; a face gives one to a request.
///
/// A handler is never held back by it: neither method may wait. [`progress_channel`] makes one
/// that a face can read at its own pace.
pub trait ProgressListener: Send + Sync + 'static {
    /// The call has come this far.
    fn progress(&self, progress: Progress);

    /// The handler notes something.
    fn note(&self, note: Note);

    /// Whether notes of this level are wanted at all.
    fn wants(&self, level: Level) -> bool {
        let _ = level;
        true
    }
}

/// How many reports of progress are told before they are told more seldom.
const CLOSE_REPORTS: u32 = 100;
/// How many notes of one call are told.
const MAX_NOTES: usize = 1000;

/// Keeps what one call tells within bounds, whoever listens: a handler that reports each of a million steps must not
/// drown its caller. Each further hundred reports that are told come half as often as the hundred before, so what is
/// told grows with the logarithm of what is reported and never stops.
pub(crate) struct BoundedListener {
    to: Arc<dyn ProgressListener>,
    reports: Mutex<Reports>,
    notes: AtomicUsize,
}

#[derive(Default)]
struct Reports {
    told: u32,
    /// How many were left out since the last that was told.
    left_out: u64,
    ends: u32,
}

impl Reports {
    /// Whether a report is told. One that says that all is done is, unless that was said too often.
    fn is_told(&mut self, at_end: bool) -> bool {
        if at_end && self.ends < CLOSE_REPORTS {
            self.ends += 1;
            return true;
        }
        let every = 1_u64.checked_shl(self.told / CLOSE_REPORTS).unwrap_or(u64::MAX);
        self.left_out = self.left_out.saturating_add(1);
        if self.left_out < every {
            return false;
        }
        self.left_out = 0;
        self.told = self.told.saturating_add(1);
        true
    }
}

impl BoundedListener {
    /// `to`, kept from being told too much.
    pub(crate) fn around(to: Arc<dyn ProgressListener>) -> Arc<dyn ProgressListener> {
        Arc::new(BoundedListener { to, reports: Mutex::default(), notes: AtomicUsize::new(0) })
    }
}

impl ProgressListener for BoundedListener {
    fn progress(&self, mut progress: Progress) {
        if !progress.done.is_finite() || progress.done < 0.0 {
            return;
        }
        let total = progress.total.filter(|total| total.is_finite());
        // Nobody is done with more than there is: it is not known then how much that is.
        progress.total = total.filter(|total| *total >= progress.done);
        let at_end = progress.total.is_some_and(|total| total <= progress.done);
        if self.reports.lock().is_told(at_end) {
            self.to.progress(progress);
        }
    }

    fn note(&self, note: Note) {
        if self.notes.fetch_add(1, Ordering::Relaxed) < MAX_NOTES {
            self.to.note(note);
        }
    }

    fn wants(&self, level: Level) -> bool {
        self.notes.load(Ordering::Relaxed) < MAX_NOTES && self.to.wants(level)
    }
}

impl Ctx {
    /// Tells the caller how far this call has come. With nobody listening it does nothing,
    /// and it never waits. What a composed call reports is not passed on: only the operation
    /// that was asked for knows how much of the whole that is. After the first hundred, reports are told more and more
    /// seldom; what is below nothing is not told.
    pub fn progress(&self, progress: Progress) {
        if let (Some(listener), None) = (&self.listener, &self.parent) {
            listener.progress(progress);
        }
    }

    /// Whether anybody wants notes of this level, for a note that is dear to make.
    pub fn wants_notes(&self, level: Level) -> bool {
        self.listener.as_ref().is_some_and(|listener| listener.wants(level))
    }

    /// Notes something for the caller, where it asked for such notes. It goes to the caller,
    /// not to the log of the service: `tracing` does that.
    pub fn note(&self, level: Level, data: impl Into<Value>) {
        if let Some(listener) = self.listener.as_ref().filter(|listener| listener.wants(level)) {
            // Who listens is outside, and internal operations have no name there.
            let named = self.entry.as_ref().filter(|entry| entry.declaration.is_external());
            let operation = named.map(|entry| entry.declaration.name().as_str().to_owned());
            listener.note(Note { level, operation, data: data.into() });
        }
    }
}

/// What was told.
#[derive(Clone, Debug, PartialEq)]
pub enum Notification {
    /// How far the call has come.
    Progress(Progress),
    /// A note.
    Note(Note),
}

/// A listener, and where what it hears can be read. At most `at_most` things wait to be read:
/// past that a newer progress takes the place of an older one, and a note takes the place of
/// the oldest thing. A progress that is not further than the last one is not told.
///
/// ```
/// use redress_core::{Notification, Level, ProgressListener as _, Progress, progress_channel};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (listener, mut ear) = progress_channel(2, Level::Info);
/// for done in [1.0, 2.0, 3.0, 3.0] {
///     listener.progress(Progress::new(done).of(3.0));
/// }
/// drop(listener);
/// assert_eq!(ear.next().await, Some(Notification::Progress(Progress::new(2.0).of(3.0))));
/// assert_eq!(ear.next().await, Some(Notification::Progress(Progress::new(3.0).of(3.0))));
/// assert_eq!(ear.next().await, None);
/// # });
/// ```
pub fn progress_channel(at_most: usize, min: Level) -> (Arc<ProgressSender>, ProgressReceiver) {
    let shared = Arc::new(ProgressShared { at_most: at_most.max(1), queue: Mutex::default(), told: Notify::new() });
    (Arc::new(ProgressSender { shared: Arc::clone(&shared), min }), ProgressReceiver(shared))
}

#[derive(Debug)]
struct ProgressShared {
    at_most: usize,
    queue: Mutex<ProgressQueue>,
    told: Notify,
}

#[derive(Debug, Default)]
struct ProgressQueue {
    waiting: VecDeque<Notification>,
    furthest: Option<f64>,
    closed: bool,
}

impl ProgressShared {
    fn queue(&self) -> MutexGuard<'_, ProgressQueue> {
        // A panic elsewhere cannot leave the queue half changed, so a lock without poison will do.
        self.queue.lock()
    }
}

/// The listener that [`progress_channel`] makes.
#[derive(Debug)]
pub struct ProgressSender {
    shared: Arc<ProgressShared>,
    min: Level,
}

impl ProgressSender {
    fn tell(&self, heard: Notification) {
        let mut queue = self.shared.queue();
        if let Notification::Progress(progress) = &heard {
            if queue.furthest.is_some_and(|furthest| progress.done <= furthest) || !progress.done.is_finite() {
                return;
            }
            queue.furthest = Some(progress.done);
        }
        if queue.waiting.len() >= self.shared.at_most {
            let older = queue.waiting.iter().position(|waiting| matches!(waiting, Notification::Progress(_)));
            queue.waiting.remove(older.unwrap_or(0));
        }
        queue.waiting.push_back(heard);
        drop(queue);
        self.shared.told.notify_one();
    }
}

impl ProgressListener for ProgressSender {
    fn progress(&self, progress: Progress) {
        self.tell(Notification::Progress(progress));
    }

    fn note(&self, note: Note) {
        self.tell(Notification::Note(note));
    }

    fn wants(&self, level: Level) -> bool {
        level >= self.min
    }
}

impl Drop for ProgressSender {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.told.notify_one();
    }
}

/// Where what a listener hears can be read.
#[derive(Debug)]
pub struct ProgressReceiver(Arc<ProgressShared>);

impl ProgressReceiver {
    /// What was told next; nothing once nobody can tell anything any more. A task that a
    /// handler spawned may tell things after the call has ended, so a face that has the
    /// outcome reads what waits with [`try_next`](ProgressReceiver::try_next) and stops.
    pub async fn next(&mut self) -> Option<Notification> {
        loop {
            let told = self.0.told.notified();
            {
                let mut queue = self.0.queue();
                match queue.waiting.pop_front() {
                    Some(heard) => return Some(heard),
                    None if queue.closed => return None,
                    None => {}
                }
            }
            told.await;
        }
    }

    /// What waits to be read.
    pub fn try_next(&mut self) -> Option<Notification> {
        self.0.queue().waiting.pop_front()
    }
}
