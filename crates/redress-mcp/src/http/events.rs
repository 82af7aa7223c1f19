//! The events of one stream: those that its reader has not been given yet, and the last of those that it has been
//! given, for a reader that lost its connection and comes back (resumption).

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::reply::Reply;

/// How many events that a reader was given are kept for it, and how many bytes one of them may have. A larger one is
/// kept until it was given whole: it is charged to the budget for answers, which its caller needs for others.
const MAX_KEPT: usize = 16;
const LARGEST_KEPT: usize = 16 * 1024;
/// How many bytes of notifications wait for their reader.
const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// The events of one stream. It has one reader at a time, and the latest is the one.
#[derive(Debug)]
pub(super) struct EventLog {
    /// How many notifications wait for their reader. Of more the oldest are dropped.
    most_waiting: usize,
    /// Whether events are kept for a reader that comes back.
    resumable: bool,
    state: Mutex<EventLogState>,
}

#[derive(Debug, Default)]
struct EventLogState {
    /// In the order of their numbers.
    events: VecDeque<LoggedEvent>,
    /// The number of the last event that there was. The first is 1.
    last: u64,
    /// The number of the last event that the reader was given, be it in part.
    given: u64,
    /// Whether that one is still on its way.
    giving: bool,
    reader: u64,
    waker: Option<Waker>,
    phase: Phase,
}

/// How far the answer has come.
#[derive(Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nobody knows yet whether there will be a stream.
    #[default]
    Undecided,
    /// There is one.
    Stream,
    /// There is none, as the answer came before anything else.
    Alone,
    /// Nothing more comes.
    Over,
}

#[derive(Debug)]
struct LoggedEvent {
    number: u64,
    message: Bytes,
    is_notification: bool,
}

/// A reader of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventLogReader {
    reader: u64,
    /// The number of the last event that it has.
    pub(super) has: u64,
}

impl EventLog {
    pub(super) fn new(most_waiting: usize, resumable: bool) -> EventLog {
        EventLog { most_waiting, resumable, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, EventLogState> {
        // No change of it can be half made, so poison says nothing here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a notification, which may be dropped where nobody takes it in time.
    pub(super) fn notify(&self, message: Vec<u8>) {
        self.add(&mut self.state(), message.into(), true);
    }

    /// Adds a notification, unless the same one waits already.
    pub(super) fn notify_once(&self, message: Vec<u8>) {
        let mut state = self.state();
        let given = state.given;
        if !state.events.iter().any(|event| event.number > given && event.message == message) {
            self.add(&mut state, message.into(), true);
        }
    }

    /// Adds a message that somebody waits for.
    pub(super) fn send(&self, message: Vec<u8>) {
        self.add(&mut self.state(), message.into(), false);
    }

    /// Adds the answer. It comes back where nothing was told before it, so that it needs no stream.
    pub(super) fn answer(&self, reply: Reply) -> Option<Reply> {
        let mut state = self.state();
        if state.phase == Phase::Undecided && state.events.is_empty() {
            state.phase = Phase::Alone;
            return Some(reply);
        }
        self.add(&mut state, reply.body, false);
        None
    }

    /// Says that nothing more comes.
    pub(super) fn close(&self) {
        let mut state = self.state();
        if state.phase != Phase::Alone {
            state.phase = Phase::Over;
        }
        wake(&mut state);
    }

    /// Whether nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.state().phase == Phase::Over
    }

    fn add(&self, state: &mut EventLogState, message: Bytes, is_notification: bool) {
        state.last += 1;
        let number = state.last;
        state.events.push_back(LoggedEvent { number, message, is_notification });
        self.trim(state);
        wake(state);
    }

    /// Drops what is neither waited for nor kept.
    fn trim(&self, state: &mut EventLogState) {
        let (given, giving) = (state.given, state.giving);
        let on_its_way = |event: &LoggedEvent| giving && event.number == given;
        state.events.retain(|event| {
            event.number > given
                || on_its_way(event)
                || (self.resumable && event.message.len() <= LARGEST_KEPT && event.number + MAX_KEPT as u64 > given)
        });
        let waits = |event: &LoggedEvent| event.number > given && event.is_notification;
        let (mut count, mut bytes) = (0, 0);
        for event in state.events.iter().filter(|event| waits(event)) {
            count += 1;
            bytes += event.message.len();
        }
        while count > self.most_waiting || (count > 1 && bytes > MAX_WAITING_BYTES) {
            let Some(oldest) = state.events.iter().position(waits) else { return };
            bytes -= state.events.remove(oldest).map_or(0, |event| event.message.len());
            count -= 1;
        }
    }

    /// Resolves when there is something to read, or nothing will be.
    pub(super) fn poll_told(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if !state.events.is_empty() || state.phase == Phase::Over {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Makes it a stream, if it can still be one.
    pub(super) fn begin(&self) -> bool {
        let mut state = self.state();
        if state.phase == Phase::Undecided {
            state.phase = Phase::Stream;
        }
        state.phase != Phase::Alone
    }

    /// A reader that has all events up to `after`, or all that another one was given. Whoever read before is at its end.
    pub(super) fn read(&self, after: Option<u64>) -> EventLogReader {
        let mut state = self.state();
        state.reader += 1;
        state.giving = false;
        if let Some(after) = after {
            state.given = after.min(state.last);
        }
        wake(&mut state);
        EventLogReader { reader: state.reader, has: state.given }
    }

    /// The next event for a reader that has read the one before; none where nothing more comes, for it or at all.
    pub(super) fn poll_next(&self, reader: EventLogReader, cx: &mut Context<'_>) -> Poll<Option<(u64, Bytes)>> {
        let mut state = self.state();
        if state.reader != reader.reader {
            return Poll::Ready(None);
        }
        state.giving = false;
        let given = state.given;
        let next = state.events.iter().find(|event| event.number > given);
        let next = next.map(|event| (event.number, event.message.clone()));
        if let Some((number, _)) = &next {
            state.given = *number;
            state.giving = self.resumable;
        }
        self.trim(&mut state);
        match next {
            Some(next) => Poll::Ready(Some(next)),
            None if state.phase == Phase::Over => Poll::Ready(None),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn wake(state: &mut EventLogState) {
    if let Some(waker) = state.waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use redress_wire::jsonrpc::Id;

    use super::*;

    fn next(log: &EventLog, reader: EventLogReader) -> Option<String> {
        match log.poll_next(reader, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => event.map(|(number, message)| format!("{number} {}", message.escape_ascii())),
            Poll::Pending => Some("pending".to_owned()),
        }
    }

    #[test]
    fn an_answer_that_comes_before_anything_else_needs_no_stream() {
        let alone = EventLog::new(4, true);
        assert!(alone.answer(Reply::result(Id::NULL, b"1")).is_some());
        assert!(!alone.begin(), "it is too late for one");
        let told = EventLog::new(4, true);
        told.notify(b"a".to_vec());
        assert!(told.answer(Reply::result(Id::NULL, b"1")).is_none() && told.begin());
        let begun = EventLog::new(4, true);
        assert!(begun.begin());
        assert!(begun.answer(Reply::result(Id::NULL, b"1")).is_none());
    }

    #[test]
    fn of_notifications_that_nobody_takes_the_latest_wait_and_no_question_is_dropped() {
        let log = EventLog::new(2, false);
        log.send(b"q".to_vec());
        for notification in ["a", "b", "c", "d"] {
            log.notify(notification.into());
        }
        log.notify_once(b"d".to_vec());
        let reader = log.read(None);
        let read: Vec<_> = std::iter::from_fn(|| next(&log, reader)).take(4).collect();
        assert_eq!(read, ["1 q", "4 c", "5 d", "pending"]);
        log.notify_once(b"d".to_vec());
        assert_eq!(next(&log, reader).unwrap(), "6 d", "what was given is news when it comes again");
        log.notify(vec![b'x'; MAX_WAITING_BYTES]);
        log.notify(b"e".to_vec());
        assert_eq!(next(&log, reader).unwrap(), "8 e");
        log.close();
        assert_eq!(next(&log, reader), None);
    }

    #[test]
    fn a_reader_that_comes_back_gets_what_it_does_not_have_and_the_one_before_ends() {
        let log = EventLog::new(64, true);
        for number in 1..=20 {
            log.notify(format!("n{number}").into_bytes());
        }
        let first = log.read(None);
        for number in 1..=20 {
            assert_eq!(next(&log, first).unwrap(), format!("{number} n{number}"));
        }
        let second = log.read(Some(18));
        assert_eq!(next(&log, first), None);
        assert_eq!(next(&log, second).unwrap(), "19 n19");
        let third = log.read(Some(0));
        assert_eq!(next(&log, third).unwrap(), "5 n5", "the last sixteen are kept");
        assert_eq!(log.read(Some(900)).has, 20, "nobody has more than there was");
    }

    #[test]
    fn a_large_answer_is_kept_until_it_was_given_whole() {
        let log = EventLog::new(64, true);
        assert!(log.begin());
        let large = vec![b'x'; LARGEST_KEPT + 1];
        log.answer(Reply { body: large.clone().into(), ..Reply::result(Id::NULL, b"") });
        log.close();
        let number = |reader| next(&log, reader).map(|event| event.len() > LARGEST_KEPT);
        let lost = log.read(None);
        assert_eq!(number(lost), Some(true));
        let back = log.read(Some(0));
        assert_eq!((number(back), number(back)), (Some(true), None));
        assert_eq!(number(log.read(Some(0))), None);
        assert!(log.state().events.is_empty());
    }
}
