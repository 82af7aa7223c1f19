//! How a connection gets on, and when it has taken too long.
//!
//! Nothing here asks for the time while a message is read or answered: one task of the server
//! keeps a coarse clock and looks at all connections in turns. So an idle connection has no
//! timer of its own, and a busy one never sets one.

use std::{
    collections::HashMap,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::Instant;

use crate::{Limits, house::House};

/// How long a connection on which nothing is asked stays open once the service goes down, so
/// that what is already on its way is answered.
pub(crate) const LINGER: Duration = Duration::from_millis(250);
/// How often connections are looked at, at most and at least.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// Nothing has come since the last answer.
const WAITING: u8 = 0;
/// Something has come that is no whole request yet.
const READING: u8 = 1;

/// How one connection gets on.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    paces: Arc<Paces>,
    phase: AtomicU8,
    /// When the phase began.
    since: AtomicU64,
    /// Requests whose answer is not written, or not known to be.
    running: AtomicU32,
    /// When the other side stopped reading, plus one.
    stuck: AtomicU64,
    /// Bodies that gave something and were not asked for more, and when one last was.
    given: AtomicU32,
    asked: AtomicU64,
    http2: AtomicBool,
    told: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

/// What a connection is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    /// To go on.
    Nothing,
    /// To end once what runs on it has ended.
    Drain,
    /// To end as soon as nothing runs on it.
    DrainNow,
    /// To end at once.
    Close,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug)]
enum Overdue {
    Headers,
    Reader,
    Idle,
}

impl Pace {
    /// Something was read.
    fn read(&self) {
        if self.phase.load(Relaxed) == WAITING && self.running.load(Relaxed) == 0 {
            self.since.store(self.paces.now(), Relaxed);
            self.phase.store(READING, Relaxed);
        }
    }

    /// Something was written, or could not be.
    fn wrote(&self, pending: bool) {
        let stuck = self.stuck.load(Relaxed) != 0;
        if pending && !stuck {
            self.stuck.store(self.paces.now() + 1, Relaxed);
        } else if stuck && !pending {
            self.stuck.store(0, Relaxed);
            self.since.store(self.paces.now(), Relaxed);
        }
    }

    /// A request was read, and runs until what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Pace>, http2: bool) -> Running {
        if http2 && !self.http2.load(Relaxed) {
            self.http2.store(true, Relaxed);
        }
        self.running.fetch_add(1, Relaxed);
        Running(Arc::clone(self))
    }

    #[cfg(feature = "tls")]
    pub(crate) fn speaks_http2(&self) {
        self.http2.store(true, Relaxed);
    }

    /// What the connection should do.
    pub(crate) fn told(&self) -> Told {
        match self.told.load(Relaxed) {
            0 => Told::Nothing,
            1 if self.running.load(Relaxed) > 0 || self.http2.load(Relaxed) => Told::DrainNow,
            1 => Told::Drain,
            2 => Told::DrainNow,
            _ => Told::Close,
        }
    }

    fn tell(&self, told: Told) {
        if self.told.fetch_max(told as u8, Relaxed) < told as u8
            && let Some(waker) = &*self.waker.lock().unwrap_or_else(PoisonError::into_inner)
        {
            waker.wake_by_ref();
        }
    }

    /// What is woken when the connection is told something.
    pub(crate) fn register(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    fn overdue(&self, now: u64, slack: u64, limits: &Limits) -> Option<Overdue> {
        let past = |since: u64, time: Duration| now.saturating_sub(since) >= millis(time).saturating_add(slack);
        let stuck = self.stuck.load(Relaxed);
        if stuck != 0 {
            return past(stuck - 1, limits.write_time).then_some(Overdue::Reader);
        }
        if self.running.load(Relaxed) > 0 {
            let kept = self.given.load(Relaxed) > 0 && past(self.asked.load(Relaxed), limits.write_time);
            return kept.then_some(Overdue::Reader);
        }
        let since = self.since.load(Relaxed);
        match self.phase.load(Relaxed) == READING && !self.http2.load(Relaxed) {
            true => past(since, limits.header_time).then_some(Overdue::Headers),
            false => past(since, limits.idle_time).then_some(Overdue::Idle),
        }
    }
}

/// A request that runs.
#[derive(Debug)]
pub(crate) struct Running(Arc<Pace>);

impl Running {
    /// The body of the answer, which `gave` something before or not, is asked for more.
    pub(crate) fn asks(&self, gave: bool) {
        if gave {
            self.0.given.fetch_sub(1, Relaxed);
        }
        self.0.asked.store(self.0.paces.now(), Relaxed);
    }

    /// The body of the answer gave something.
    pub(crate) fn gives(&self) {
        self.0.given.fetch_add(1, Relaxed);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pace = &self.0;
        if pace.running.load(Relaxed) == 1 {
            pace.since.store(pace.paces.now(), Relaxed);
            pace.phase.store(WAITING, Relaxed);
        }
        pace.running.fetch_sub(1, Relaxed);
    }
}

/// How all connections of a server get on.
#[derive(Debug)]
pub(crate) struct Paces {
    began: Instant,
    now: AtomicU64,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    closed: bool,
    paces: HashMap<u64, Arc<Pace>>,
}

impl Default for Paces {
    fn default() -> Paces {
        Paces { began: Instant::now(), now: AtomicU64::new(0), open: Mutex::default() }
    }
}

impl Paces {
    /// Milliseconds since the server began, as of the last look.
    fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// A new connection.
    pub(crate) fn enter(self: &Arc<Paces>) -> Entered {
        let pace = Pace { paces: Arc::clone(self), since: self.now().into(), ..Pace::default() };
        let pace = Arc::new(pace);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.closed {
            pace.tell(Told::Close);
        }
        let number = open.next;
        open.next += 1;
        open.paces.insert(number, Arc::clone(&pace));
        Entered { pace, number }
    }

    /// Tells every connection.
    pub(crate) fn tell(&self, told: Told) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.closed |= told == Told::Close;
        for pace in open.paces.values() {
            pace.tell(told);
        }
    }

    /// Looks after the connections for as long as it is polled.
    pub(crate) async fn look_after(&self, house: &House, limits: impl Fn() -> Limits) {
        let mut drained = None;
        loop {
            let limits = limits();
            let shortest = limits.header_time.min(limits.idle_time).min(limits.write_time) / 8;
            let pause = shortest.clamp(LOOK.0, LOOK.1);
            tokio::time::sleep(pause).await;
            let now = millis(self.began.elapsed());
            self.now.store(now, Relaxed);
            if house.shutdown.is_draining() {
                let since = *drained.get_or_insert(now);
                let told = if now - since >= millis(LINGER) { Told::DrainNow } else { Told::Drain };
                self.tell(told);
            }
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            for pace in open.paces.values() {
                let Some(overdue) = pace.overdue(now, millis(pause), &limits) else { continue };
                if pace.told.load(Relaxed) == Told::Close as u8 {
                    continue;
                }
                match overdue {
                    Overdue::Headers => house.counters.slow_headers.up(),
                    Overdue::Reader => house.counters.slow_readers.up(),
                    Overdue::Idle => house.counters.idle.up(),
                }
                tracing::debug!(?overdue, "a connection is closed");
                pace.tell(Told::Close);
            }
        }
    }
}

/// A connection that is looked after until this is dropped.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) pace: Arc<Pace>,
    number: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut open = self.pace.paces.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.paces.remove(&self.number);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A connection whose pace is watched.
#[derive(Debug)]
pub(crate) struct Paced<T, O> {
    inner: T,
    pace: Arc<Pace>,
    /// What is given back when the connection is closed, whoever has it by then.
    _open: O,
}

impl<T, O> Paced<T, O> {
    pub(crate) fn new(inner: T, pace: Arc<Pace>, open: O) -> Paced<T, O> {
        Paced { inner, pace, _open: open }
    }
}

impl<T: Read + Unpin, O: Unpin> Read for Paced<T, O> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.inner).poll_read(cx, buffer));
        self.pace.read();
        Poll::Ready(read)
    }
}

impl<T: Write + Unpin, O: Unpin> Write for Paced<T, O> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.pace.wrote(wrote.is_pending());
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.pace.wrote(wrote.is_pending());
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.pace.wrote(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.pace.wrote(shut.is_pending());
        shut
    }
}
