//! How much may be asked of an upstream at once: a number of calls in flight, and a rate.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, QuantaClock},
    state::{InMemoryState, NotKeyed},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Limiter = RateLimiter<NotKeyed, InMemoryState, QuantaClock>;

/// What an upstream may be asked for.
#[derive(Debug)]
pub(crate) struct Gate {
    in_flight: Arc<Semaphore>,
    concurrency: usize,
    rate: Option<Limiter>,
    clock: QuantaClock,
    patience: Duration,
}

/// There is no room for another call, and perhaps in how long there will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) limit: &'static str,
    pub(crate) retry_after: Duration,
}

impl Gate {
    /// At most `concurrency` calls at once and `rate` in a second; a call waits no longer than `patience` for its turn.
    pub(crate) fn new(concurrency: usize, rate: Option<NonZeroU32>, patience: Duration) -> Gate {
        let concurrency = concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Gate {
            in_flight: Arc::new(Semaphore::new(concurrency)),
            concurrency,
            rate: rate.map(|rate| RateLimiter::direct(Quota::per_second(rate))),
            clock: QuantaClock::default(),
            patience,
        }
    }

    /// Waits for a turn.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, NoRoom> {
        let no_room = |limit| NoRoom { limit, retry_after: self.patience };
        let permit = match Arc::clone(&self.in_flight).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => match tokio::time::timeout(self.patience, Arc::clone(&self.in_flight).acquire_owned()).await {
                Ok(Ok(permit)) => permit,
                Ok(Err(_)) | Err(_) => return Err(no_room("concurrency")),
            },
        };
        let Some(rate) = &self.rate else { return Ok(permit) };
        let mut patience = self.patience;
        loop {
            match rate.check() {
                Ok(()) => return Ok(permit),
                Err(not_until) => {
                    let wait = not_until.wait_time_from(self.clock.now()).max(Duration::from_millis(1));
                    if wait > patience {
                        return Err(NoRoom { limit: "rate", retry_after: wait });
                    }
                    tokio::time::sleep(wait).await;
                    patience -= wait;
                }
            }
        }
    }

    /// How many calls are in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.concurrency.saturating_sub(self.in_flight.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_its_turn_and_not_for_ever() {
        let gate = Gate::new(1, None, Duration::from_secs(1));
        let first = gate.enter().await.unwrap();
        assert_eq!(gate.in_flight(), 1);
        assert_eq!(gate.enter().await.unwrap_err().limit, "concurrency");
        drop(first);
        assert!(gate.enter().await.is_ok());
    }

    #[tokio::test]
    async fn more_than_the_rate_waits_or_is_told_when_to_come_again() {
        let gate = Gate::new(100, NonZeroU32::new(2), Duration::ZERO);
        assert!(gate.enter().await.is_ok() && gate.enter().await.is_ok());
        let refused = gate.enter().await.unwrap_err();
        assert_eq!(refused.limit, "rate");
        assert!(refused.retry_after <= Duration::from_millis(500), "{refused:?}");
    }
}
