//! One line for each call that has ended, written by a thread of its own.

mod line;
mod writer;

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    time::{Duration, Instant},
};

use redress_core::{EndedCall, Observer};

/// How many lines may wait to be written.
const WAITING: usize = 8192;
/// How long opening anew may take.
const REOPENING: Duration = Duration::from_secs(5);

/// Where the lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// To standard error.
    Stderr,
    /// To standard output.
    Stdout,
    /// To the end of a file, which is made where it does not exist, or into a pipe that somebody reads.
    File(PathBuf),
}

/// Writes one line of JSON for each call that has ended: who called what, by which face, and how it ended.
/// No input, no output and no cause is in it.
///
/// A call never waits for it. Where lines come faster than they can be written they are dropped, and the log
/// itself says how many.
///
/// ```
/// use redress_core::{Layers, Registry, Request};
/// use redress_telemetry::{AccessLog, LogTarget};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("access.log");
/// let log = AccessLog::open(LogTarget::File(path.clone())).unwrap();
/// let registry = Registry::builder().build().unwrap();
/// let registry = registry.with_layers(Layers::new().observer(log.clone()));
/// let _ = registry.call("no.such", Request::default().with_request_id("a-1")).await;
///
/// assert!(log.flush(std::time::Duration::from_secs(5)));
/// let line = std::fs::read_to_string(path).unwrap();
/// assert!(line.contains(r#""request_id":"a-1""#) && line.contains(r#""code":"NOT_FOUND""#));
/// # });
/// ```
#[derive(Debug)]
pub struct AccessLog {
    lines: SyncSender<LogCommand>,
    dropped: Arc<AtomicU64>,
}

/// What the thread that writes is told.
enum LogCommand {
    Write(Vec<u8>),
    Reopen(SyncSender<io::Result<()>>),
    Flush(SyncSender<()>),
}

impl AccessLog {
    /// Opens the log, and starts the thread that writes it. The thread ends with the log, after what was
    /// still to be written.
    pub fn open(target: LogTarget) -> io::Result<Arc<AccessLog>> {
        let (lines, orders) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = writer::LogWriter::open(target, Arc::clone(&dropped))?;
        std::thread::Builder::new().name("redress-access-log".to_owned()).spawn(move || writer.run(&orders))?;
        Ok(Arc::new(AccessLog { lines, dropped }))
    }

    /// Opens the file anew, for one that was moved away to be kept. Where that fails, the log goes on where it
    /// was.
    pub fn reopen(&self) -> io::Result<()> {
        let (done, wait) = sync_channel(1);
        let until = Instant::now() + REOPENING;
        self.order(LogCommand::Reopen(done), until)?;
        let left = until.saturating_duration_since(Instant::now());
        wait.recv_timeout(left).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Hands an order to the thread that writes, which may be busy until then.
    fn order(&self, order: LogCommand, until: Instant) -> io::Result<()> {
        let mut order = order;
        loop {
            match self.lines.try_send(order) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(io::Error::other("the access log has stopped")),
                Err(TrySendError::Full(back)) if Instant::now() < until => {
                    order = back;
                    std::thread::yield_now();
                }
                Err(TrySendError::Full(_)) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }

    /// Waits until everything that was told so far is written; says whether it was, within the time.
    pub fn flush(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        let (done, wait) = sync_channel(1);
        self.order(LogCommand::Flush(done), until).is_ok()
            && wait.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok()
    }

    /// How many lines could not be written since it was opened.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

impl Observer for AccessLog {
    fn ended(&self, call: &EndedCall<'_>) {
        if self.lines.try_send(LogCommand::Write(line::line(call))).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// The next order; nothing once the log is gone.
fn next(orders: &Receiver<LogCommand>) -> Option<LogCommand> {
    orders.recv().ok()
}
