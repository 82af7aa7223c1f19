//! The watchdog of connections: which are slow to send a request (slowloris), slow to read an answer (slow read), or idle,
//! and which are closed for it.
//!
//! Nothing here asks for the time while a message is read or answered: one task of the server
//! keeps a coarse clock and looks at all connections in turns. So an idle connection has no
//! timer of its own, and a busy one never sets one.
//!
//! Why so: docs/decisions/0026-connections-of-our-own.md.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::Waker,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{ServerLimits, connection::server_state::ServerState};

/// How long a connection on which nothing is asked stays open once the service goes down, so
/// that what is already on its way is answered.
pub(crate) const LINGER: Duration = Duration::from_millis(250);
/// How often connections are looked at, at most and at least.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// How much of the time between two looks counts at most. A server that looks later than that was not running itself: it
/// was stopped, or its machine was. Its clients had no chance to go on either, and are not too slow for that.
const LATE: Duration = Duration::from_secs(5);

/// Nothing has come since the last answer.
const WAITING: u8 = 0;
/// Something has come that is no whole request yet.
const READING: u8 = 1;

/// How one connection gets on.
#[derive(Debug, Default)]
pub(crate) struct ConnActivity {
    tracker: Arc<ConnTracker>,
    /// What its address counts as, where it has one.
    from: Option<IpAddr>,
    phase: AtomicU8,
    /// When the phase began.
    since: AtomicU64,
    /// Requests whose answer is not written, or not known to be.
    running: AtomicU32,
    /// When the other side stopped reading, plus one.
    stuck: AtomicU64,
    /// The bodies of answers whose reader has to go on.
    turns: BodyTurns,
    http2: AtomicBool,
    /// How many bytes have come.
    received: AtomicU64,
    told: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

/// What a connection is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConnCommand {
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
enum CloseReason {
    Headers,
    Reader,
    /// Nothing is asked.
    Idle,
    /// Nothing is asked, and it does not end though it was told to.
    Lingers,
}

impl ConnActivity {
    /// Something was read.
    pub(crate) fn read(&self) {
        if self.phase.load(Relaxed) == WAITING && self.running.load(Relaxed) == 0 {
            self.since.store(self.tracker.now(), Relaxed);
            self.phase.store(READING, Relaxed);
        }
    }

    /// So many bytes have come.
    pub(crate) fn add_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Relaxed);
    }

    /// How many bytes have come.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Something was written, or could not be.
    pub(crate) fn wrote(&self, pending: bool) {
        let stuck = self.stuck.load(Relaxed) != 0;
        if pending && !stuck {
            self.stuck.store(self.tracker.now() + 1, Relaxed);
        } else if stuck && !pending {
            self.stuck.store(0, Relaxed);
            self.since.store(self.tracker.now(), Relaxed);
        }
    }

    /// For how long the other side has taken nothing of what is written to it.
    pub(crate) fn stuck_for(&self) -> Duration {
        match self.stuck.load(Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis(self.tracker.now().saturating_sub(since - 1)),
        }
    }

    /// A request was read, and runs until what is returned is dropped.
    pub(crate) fn begin(self: &Arc<ConnActivity>) -> RunningRequest {
        self.running.fetch_add(1, Relaxed);
        RunningRequest(Arc::clone(self))
    }

    /// The connection is one of HTTP/2, on which silence between requests is no slow request.
    pub(crate) fn speaks_http2(&self) {
        self.http2.store(true, Relaxed);
    }

    /// What the connection should do.
    pub(crate) fn told(&self) -> ConnCommand {
        match self.told.load(Relaxed) {
            0 => ConnCommand::Nothing,
            1 if self.running.load(Relaxed) > 0 || self.http2.load(Relaxed) => ConnCommand::DrainNow,
            1 => ConnCommand::Drain,
            2 => ConnCommand::DrainNow,
            _ => ConnCommand::Close,
        }
    }

    pub(crate) fn tell(&self, told: ConnCommand) {
        if self.told.fetch_max(told as u8, Relaxed) < told as u8
            && let Some(waker) = &*self.waker.lock()
        {
            waker.wake_by_ref();
        }
    }

    /// What is woken when the connection is told something.
    pub(crate) fn register(&self, waker: &Waker) {
        *self.waker.lock() = Some(waker.clone());
    }

    /// Whether nothing is asked on it, and nothing of an answer is left.
    fn is_idle(&self) -> bool {
        let asked = self.phase.load(Relaxed) == READING && !self.http2.load(Relaxed);
        // A body has ended once it is given; its last bytes may still wait for their reader.
        let left = self.running.load(Relaxed) > 0 || self.stuck.load(Relaxed) != 0;
        !asked && !left && self.told.load(Relaxed) < ConnCommand::Close as u8
    }

    fn overdue(&self, now: u64, slack: u64, limits: &ServerLimits) -> Option<CloseReason> {
        let past = |since: u64, time: Duration| now.saturating_sub(since) >= millis(time).saturating_add(slack);
        let stuck = self.stuck.load(Relaxed);
        if stuck != 0 {
            return past(stuck - 1, limits.write_time).then_some(CloseReason::Reader);
        }
        if self.running.load(Relaxed) > 0 {
            let kept = self.turns.longest().is_some_and(|since| past(since, limits.write_time));
            return kept.then_some(CloseReason::Reader);
        }
        let since = self.since.load(Relaxed);
        match self.phase.load(Relaxed) == READING && !self.http2.load(Relaxed) {
            true => past(since, limits.header_time).then_some(CloseReason::Headers),
            false if self.told.load(Relaxed) < ConnCommand::DrainNow as u8 => {
                past(since, limits.idle_time).then_some(CloseReason::Idle)
            }
            false => past(since, limits.idle_time.saturating_add(limits.write_time)).then_some(CloseReason::Lingers),
        }
    }
}

/// A request that runs.
#[derive(Debug)]
pub(crate) struct RunningRequest(Arc<ConnActivity>);

impl RunningRequest {
    /// The turns of the body of its answer, which is its reader's to ask for.
    pub(crate) fn body(self) -> BodyTurn {
        let now = self.0.tracker.now();
        let number = self.0.turns.wait(now);
        BodyTurn { running: self, number: Some(number) }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let activity = &self.0;
        // Whichever is the last of those that end at once, the clock begins anew with it.
        activity.since.store(activity.tracker.now(), Relaxed);
        activity.phase.store(WAITING, Relaxed);
        activity.running.fetch_sub(1, Relaxed);
    }
}

/// Whose turn it is in the body of an answer.
#[derive(Debug)]
pub(crate) struct BodyTurn {
    running: RunningRequest,
    /// What the wait for the reader is known by; none while the body itself is waited for.
    number: Option<u64>,
}

impl BodyTurn {
    /// The reader asks for more.
    pub(crate) fn asked(&mut self) {
        if let Some(number) = self.number.take() {
            self.running.0.turns.go_on(number);
        }
    }

    /// The body gave something.
    pub(crate) fn gave(&mut self) {
        self.asked();
        let activity = &self.running.0;
        self.number = Some(activity.turns.wait(activity.tracker.now()));
    }
}

impl Drop for BodyTurn {
    fn drop(&mut self) {
        self.asked();
    }
}

/// The bodies of a connection that wait for their reader: what each is known by, and since when.
///
/// Each on its own: a reader that goes on with one answer may leave the others where they are.
#[derive(Debug, Default)]
struct BodyTurns(Mutex<StalledBodies>);

#[derive(Debug, Default)]
struct StalledBodies {
    next: u64,
    since: Vec<(u64, u64)>,
}

impl BodyTurns {
    fn wait(&self, since: u64) -> u64 {
        let mut waiting = self.0.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.since.push((number, since));
        number
    }

    fn go_on(&self, number: u64) {
        let mut waiting = self.0.lock();
        if let Some(place) = waiting.since.iter().position(|(waits, _)| *waits == number) {
            waiting.since.swap_remove(place);
        }
    }

    /// Since when the one that waits longest does.
    fn longest(&self) -> Option<u64> {
        let waiting = self.0.lock();
        waiting.since.iter().map(|(_, since)| *since).min()
    }
}

/// How all connections of a server get on.
#[derive(Debug, Default)]
pub(crate) struct ConnTracker {
    now: AtomicU64,
    open: Mutex<TrackedConns>,
}

#[derive(Debug, Default)]
struct TrackedConns {
    next: u64,
    closed: bool,
    tracker: HashMap<u64, Arc<ConnActivity>>,
}

/// For how long the server has run, as far as it could be seen.
struct UpTime {
    ran: Duration,
    looked: Instant,
}

impl UpTime {
    fn look(&mut self, now: Instant) -> u64 {
        self.ran += now.duration_since(self.looked).min(LATE);
        self.looked = now;
        millis(self.ran)
    }
}

impl ConnTracker {
    /// For how many milliseconds the server has run, as of the last look.
    fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// A new connection, from an address that counts as this.
    pub(crate) fn enter(self: &Arc<ConnTracker>, from: Option<IpAddr>) -> TrackedConn {
        let activity =
            ConnActivity { tracker: Arc::clone(self), from, since: self.now().into(), ..ConnActivity::default() };
        let activity = Arc::new(activity);
        let mut open = self.open.lock();
        if open.closed {
            activity.tell(ConnCommand::Close);
        }
        let number = open.next;
        open.next += 1;
        open.tracker.insert(number, Arc::clone(&activity));
        TrackedConn { activity, number }
    }

    /// Tells every connection.
    pub(crate) fn tell(&self, told: ConnCommand) {
        let mut open = self.open.lock();
        open.closed |= told == ConnCommand::Close;
        for activity in open.tracker.values() {
            activity.tell(told);
        }
    }

    /// Closes the one from this address on which nothing was asked for longest, if there is one.
    ///
    /// At once, and not after a word of farewell: a client that does not answer that would keep it.
    pub(crate) fn close_idle(&self, from: IpAddr) -> bool {
        let open = self.open.lock();
        let idle = open.tracker.values().filter(|activity| activity.from == Some(from) && activity.is_idle());
        let Some(longest) = idle.min_by_key(|activity| activity.since.load(Relaxed)) else { return false };
        longest.tell(ConnCommand::Close);
        true
    }

    /// Looks after the connections for as long as it is polled.
    pub(crate) async fn reap(&self, server_state: &ServerState, limits: impl Fn() -> ServerLimits) {
        let mut drained = None;
        let mut up_time = UpTime { ran: Duration::ZERO, looked: Instant::now() };
        loop {
            let limits = limits();
            let shortest = limits.header_time.min(limits.idle_time).min(limits.write_time) / 8;
            let pause = shortest.clamp(LOOK.0, LOOK.1);
            tokio::time::sleep(pause).await;
            let now = up_time.look(Instant::now());
            self.now.store(now, Relaxed);
            if server_state.shutdown.is_draining() {
                let since = *drained.get_or_insert(now);
                let told = if now - since >= millis(LINGER) { ConnCommand::DrainNow } else { ConnCommand::Drain };
                self.tell(told);
            }
            let open = self.open.lock();
            for activity in open.tracker.values() {
                let Some(overdue) = activity.overdue(now, millis(pause), &limits) else { continue };
                if activity.told.load(Relaxed) == ConnCommand::Close as u8 {
                    continue;
                }
                let told = match overdue {
                    CloseReason::Headers => {
                        server_state.counters.slow_headers.up();
                        ConnCommand::Close
                    }
                    CloseReason::Reader => {
                        server_state.counters.slow_readers.up();
                        ConnCommand::Close
                    }
                    // A request may be on its way: on HTTP/2 its client learns that it did not run.
                    CloseReason::Idle => {
                        server_state.counters.idle.up();
                        ConnCommand::DrainNow
                    }
                    CloseReason::Lingers => ConnCommand::Close,
                };
                tracing::debug!(?overdue, "a connection is closed");
                activity.tell(told);
            }
        }
    }
}

/// A connection that is looked after until this is dropped.
#[derive(Debug)]
pub(crate) struct TrackedConn {
    pub(crate) activity: Arc<ConnActivity>,
    number: u64,
}

impl Drop for TrackedConn {
    fn drop(&mut self) {
        let mut open = self.activity.tracker.open.lock();
        open.tracker.remove(&self.number);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_which_the_server_was_stopped_is_nobodys_delay() {
        let began = Instant::now();
        let mut up_time = UpTime { ran: Duration::ZERO, looked: began };
        let after = |millis: u64| began + Duration::from_millis(millis);
        assert_eq!((up_time.look(after(250)), up_time.look(after(1_000))), (250, 1_000));
        let late = millis(LATE);
        assert_eq!((up_time.look(after(601_000)), up_time.look(after(601_250))), (1_000 + late, 1_250 + late));
    }

    #[test]
    fn an_answer_whose_end_is_not_read_yet_does_not_make_way() {
        let tracker = Arc::new(ConnTracker::default());
        let from = IpAddr::from([192, 0, 2, 1]);
        let entered = tracker.enter(Some(from));
        drop(entered.activity.begin());
        entered.activity.wrote(true);
        assert!(!tracker.close_idle(from));
        entered.activity.wrote(false);
        assert!(tracker.close_idle(from));
    }

    #[test]
    fn the_time_without_a_request_begins_with_each_that_ends() {
        let tracker = Arc::new(ConnTracker::default());
        let entered = tracker.enter(None);
        let running = [entered.activity.begin(), entered.activity.begin()];
        tracker.now.store(80_000, Relaxed);
        // What ends beside it may have looked before it ended itself.
        let [one, other] = running;
        drop(one);
        assert_eq!(entered.activity.since.load(Relaxed), 80_000);
        drop(other);
        assert!(entered.activity.overdue(81_000, 0, &ServerLimits::default()).is_none());
    }

    #[test]
    fn the_reader_of_one_answer_is_not_excused_by_that_of_another() {
        let tracker = Arc::new(ConnTracker::default());
        let activity = Arc::clone(&tracker.enter(None).activity);
        let limits = ServerLimits::default();
        let (mut left, mut read) = (activity.begin().body(), activity.begin().body());
        left.asked();
        left.gave();
        tracker.now.store(29_000, Relaxed);
        read.asked();
        read.gave();
        assert!(activity.overdue(29_000, 0, &limits).is_none());
        assert!(matches!(activity.overdue(30_000, 0, &limits), Some(CloseReason::Reader)));
        left.asked();
        assert!(activity.overdue(58_000, 0, &limits).is_none());
        drop(read);
        assert!(activity.overdue(90_000, 0, &limits).is_none());
    }
}
