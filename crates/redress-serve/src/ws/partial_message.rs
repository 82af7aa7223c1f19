//! A message that has begun and is not whole: what it holds is charged like a body, and it has a body's time.
//!
//! The library that reads frames keeps the parts of a message to itself until it has all of them. So what has come on the
//! connection is counted below it, and what it has given is counted here; the rest is what an unfinished message holds,
//! to within what the library reads ahead.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{fair_queue::Close, session::WsSession};
use crate::{
    connection::conn_watchdog::ConnActivity,
    request::body_budget::{BodyBudget, BodyReservation, BodySource},
};

/// How often it is looked whether a message is unfinished, at most and at least.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));
/// The bytes of a control frame of a client beside what it carries: two of a header, four of a mask.
const AROUND_CONTROL: u64 = 6;

/// What has been read of a connection, as far as it was given to somebody.
#[derive(Debug, Default)]
pub(super) struct ReadPosition {
    /// Up to which byte of the connection everything belongs to messages that are whole.
    bytes: AtomicU64,
    /// How many messages were whole.
    messages: AtomicU64,
    /// Whether the next message is waited for, and not the end of the one before.
    waits: AtomicBool,
}

impl ReadPosition {
    /// Everything that has come until here was for others.
    pub(super) fn begin(&self, activity: Option<&Arc<ConnActivity>>) {
        self.bytes.store(activity.map_or(0, |activity| activity.received()), Relaxed);
    }

    pub(super) fn waits(&self) {
        self.waits.store(true, Relaxed);
    }

    /// A message is whole.
    pub(super) fn message(&self, activity: Option<&Arc<ConnActivity>>) {
        self.waits.store(false, Relaxed);
        self.messages.fetch_add(1, Relaxed);
        self.begin(activity);
    }

    /// A ping, or the answer to one, which may stand between the parts of a message.
    pub(super) fn control(&self, carries: usize) {
        self.bytes.fetch_add(AROUND_CONTROL.saturating_add(carries as u64), Relaxed);
    }

    /// How many bytes of an unfinished message there are.
    fn unfinished(&self, activity: &ConnActivity) -> usize {
        if !self.waits.load(Relaxed) {
            return 0;
        }
        usize::try_from(activity.received().saturating_sub(self.bytes.load(Relaxed))).unwrap_or(usize::MAX)
    }
}

impl WsSession {
    /// Resolves when a message takes longer than a body may, or has no room.
    pub(super) async fn unfinished(&self) -> Close {
        // Inside another server nobody counts what comes.
        let Some(activity) = &self.line.activity else { return std::future::pending().await };
        let mut begun: Option<Begun> = None;
        loop {
            let shared = self.line.served.load_full();
            let patience = shared.limits.body_time;
            sleep((patience / 16).clamp(LOOK.0, LOOK.1)).await;
            let (bytes, number) = (self.given.unfinished(activity), self.given.messages.load(Relaxed));
            if bytes == 0 {
                begun = None;
                continue;
            }
            let message = match begun.take().filter(|begun| begun.number == number) {
                Some(message) => begun.insert(message),
                None => {
                    let from = BodySource::of(self.address, self.line.side.address.is_some());
                    let room = BodyReservation::new(
                        Arc::clone(&shared.server_state.room),
                        from,
                        shared.most_of_bodies(),
                        true,
                    );
                    begun.insert(Begun { number, since: Instant::now(), room })
                }
            };
            if message.since.elapsed() >= patience {
                shared.server_state.counters.slow_bodies.up();
                return (1008, "a message did not come in time");
            }
            if message.room.holds(bytes).is_err() {
                shared.server_state.counters.refused_bodies.up();
                return (1013, "there is no room for the message");
            }
        }
    }
}

/// A message that has begun.
struct Begun {
    /// How many were whole before it.
    number: u64,
    since: Instant,
    room: BodyReservation<Arc<BodyBudget>>,
}
