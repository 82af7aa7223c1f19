//! How much may be asked of an upstream at once: a number of calls in flight, and a rate.

use std::{collections::HashMap, num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, QuantaClock},
    state::{InMemoryState, NotKeyed},
};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

type Limiter = RateLimiter<NotKeyed, InMemoryState, QuantaClock>;

/// What an upstream may be asked for.
#[derive(Debug)]
pub(crate) struct Gate {
    in_flight: Arc<Semaphore>,
    concurrency: usize,
    /// What each caller with calls in flight, or waiting, has of them.
    shares: Mutex<HashMap<String, Arc<Semaphore>>>,
    rate: Option<Limiter>,
    clock: QuantaClock,
    patience: Duration,
}

/// What a call holds while it is in flight: one of the places of its caller, and one of all.
#[derive(Debug)]
pub(crate) struct GatePermit {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
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
            shares: Mutex::default(),
            rate: rate.map(|rate| RateLimiter::direct(Quota::per_second(rate))),
            clock: QuantaClock::default(),
            patience,
        }
    }

    /// Waits for a turn. One caller has half of the places at the most, so that whoever lets a slow service hang does not keep
    /// everybody else from it.
    pub(crate) async fn enter(&self, caller: &str) -> Result<GatePermit, NoRoom> {
        let until = Instant::now() + self.patience;
        let own = self.place(self.share(caller), until, "caller_concurrency").await?;
        let all = self.place(Arc::clone(&self.in_flight), until, "concurrency").await?;
        let permit = GatePermit { _own: own, _all: all };
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

    async fn place(
        &self,
        places: Arc<Semaphore>,
        until: Instant,
        limit: &'static str,
    ) -> Result<OwnedSemaphorePermit, NoRoom> {
        if let Ok(permit) = Arc::clone(&places).try_acquire_owned() {
            return Ok(permit);
        }
        match timeout_at(until, places.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(NoRoom { limit, retry_after: self.patience }),
        }
    }

    /// The places of one caller.
    fn share(&self, caller: &str) -> Arc<Semaphore> {
        let mut shares = self.shares.lock();
        if let Some(share) = shares.get(caller) {
            return Arc::clone(share);
        }
        // Whoever is in flight or waits holds a second reference; there are never more of those than calls.
        if shares.len() >= 2 * self.concurrency {
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let share = Arc::new(Semaphore::new(self.concurrency.div_ceil(2)));
        shares.insert(caller.to_owned(), Arc::clone(&share));
        share
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
        let first = gate.enter("ada").await.unwrap();
        assert_eq!(gate.in_flight(), 1);
        assert_eq!(gate.enter("bob").await.unwrap_err().limit, "concurrency");
        drop(first);
        assert!(gate.enter("ada").await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_caller_has_half_of_the_places_and_who_is_gone_is_forgotten() {
        let gate = Gate::new(4, None, Duration::from_secs(1));
        let held = [gate.enter("mallory").await.unwrap(), gate.enter("mallory").await.unwrap()];
        assert_eq!(gate.enter("mallory").await.unwrap_err().limit, "caller_concurrency");
        assert!(gate.enter("ada").await.is_ok());
        for caller in 0..1_000 {
            assert!(gate.enter(&caller.to_string()).await.is_ok());
        }
        assert!(gate.shares.lock().len() <= 8);
        drop(held);
        assert!(gate.enter("mallory").await.is_ok());
    }

    #[tokio::test]
    async fn more_than_the_rate_waits_or_is_told_when_to_come_again() {
        let gate = Gate::new(100, NonZeroU32::new(2), Duration::ZERO);
        assert!(gate.enter("ada").await.is_ok() && gate.enter("bob").await.is_ok());
        let refused = gate.enter("ada").await.unwrap_err();
        assert_eq!(refused.limit, "rate");
        assert!(refused.retry_after <= Duration::from_millis(500), "{refused:?}");
    }
}
