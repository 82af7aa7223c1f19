//! Turns on a worker, for whoever does many small things one after the other.

use std::time::{Duration, Instant};

use tokio::task::yield_now;

/// How long a turn is: as long as anything that is done on a worker may take.
const TURN: Duration = Duration::from_millis(1);
/// How many things are done between two looks at the clock.
const LOOK: u8 = 4;

/// A turn on a worker. Each thing that a message asks for is small, or done off the workers; but one message may ask for
/// many, and nobody else would have a turn before the last of them.
#[derive(Debug)]
pub struct CoopBudget {
    since: Instant,
    done: u8,
}

impl CoopBudget {
    /// A turn that begins.
    #[must_use]
    pub fn begin() -> CoopBudget {
        CoopBudget { since: Instant::now(), done: 0 }
    }

    /// Says that one thing is done, and lets the others have their turn where this one was long enough.
    #[inline]
    pub async fn over(&mut self) {
        self.done += 1;
        if self.done < LOOK {
            return;
        }
        self.done = 0;
        if self.since.elapsed() >= TURN {
            yield_now().await;
            self.since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn who_is_at_work_for_long_lets_the_others_have_their_turn_and_who_is_not_goes_on() {
        let mut turn = CoopBudget::begin();
        turn.since = Instant::now() + Duration::from_secs(60);
        for _ in 0..100 {
            assert!(turn.over().now_or_never().is_some());
        }
        turn.since = Instant::now() - 2 * TURN;
        let paused = (0..LOOK).filter(|_| turn.over().now_or_never().is_none()).count();
        assert_eq!(paused, 1, "once, where the clock is looked at");
        turn.since = Instant::now() - 2 * TURN;
        for _ in 0..LOOK {
            turn.over().await;
        }
        assert!(turn.since.elapsed() < 2 * TURN + TURN, "a new one has begun");
    }
}
