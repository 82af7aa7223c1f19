//! The circuit breaker of an upstream: while it is open nothing is sent, and one call at a time finds out whether the
//! service is back.

use std::{sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// How often the pause may double.
const DOUBLINGS: u32 = 6;

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerConfig {
    /// After how many calls in a row that got no answer it opens.
    pub failures: u32,
    /// How long it stays open at first. The pause doubles with each probe that fails.
    pub pause: Duration,
    /// How long it stays open at most.
    pub max_pause: Duration,
}

impl Default for BreakerConfig {
    fn default() -> BreakerConfig {
        BreakerConfig { failures: 5, pause: Duration::from_secs(1), max_pause: Duration::from_secs(30) }
    }
}

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls go through.
    Closed,
    /// Nothing is sent before the next probe.
    Open {
        /// In how long a call may find out whether the service is back.
        next_probe: Duration,
    },
    /// One call is on its way to find out, or the next one will be.
    HalfOpen,
}

/// The breaker of one upstream.
#[derive(Debug)]
pub(crate) struct Breaker {
    config: BreakerConfig,
    held: Mutex<Outcomes>,
}

#[derive(Debug, Default)]
struct Outcomes {
    /// Calls in a row that got no answer.
    failures: u32,
    /// Until when nothing is sent.
    open_until: Option<Instant>,
    /// How often it has opened since the service last answered.
    opened: u32,
    /// Whether a call is on its way to find out.
    probing: bool,
}

impl Breaker {
    pub(crate) fn new(config: BreakerConfig) -> Arc<Breaker> {
        Arc::new(Breaker { config, held: Mutex::default() })
    }

    /// Lets a call through that counts against the service when it is dropped after `deadline`, or says in how long one may find out whether the service is back.
    pub(crate) fn admit(self: &Arc<Self>, deadline: Option<Instant>) -> Result<Attempt, Duration> {
        let now = Instant::now();
        let mut held = self.held();
        let probe = match held.open_until {
            None => false,
            Some(until) if now < until => return Err(until - now),
            Some(_) if held.probing => return Err(self.config.pause),
            Some(_) => {
                held.probing = true;
                true
            }
        };
        Ok(Attempt { breaker: Arc::clone(self), probe, deadline, judged: false })
    }

    pub(crate) fn state(&self) -> BreakerState {
        let held = self.held();
        let now = Instant::now();
        match held.open_until {
            None => BreakerState::Closed,
            Some(until) if now < until => BreakerState::Open { next_probe: until - now },
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// Calls in a row that got no answer.
    pub(crate) fn failures(&self) -> u32 {
        self.held().failures
    }

    fn answered(&self, probe: bool) {
        let mut held = self.held();
        // What was sent before the breaker opened says nothing about now, unless it is an answer: then the service is there.
        *held = Outcomes { probing: held.probing && !probe, ..Outcomes::default() };
    }

    fn failed(&self, probe: bool) {
        let mut held = self.held();
        held.failures = held.failures.saturating_add(1);
        if probe {
            held.probing = false;
        }
        let opens = probe || held.open_until.is_none() && held.failures >= self.config.failures.max(1);
        if opens {
            let pause = self.config.pause.saturating_mul(1 << held.opened.min(DOUBLINGS)).min(self.config.max_pause);
            held.opened = held.opened.saturating_add(1);
            held.open_until = Instant::now().checked_add(jittered(pause));
        }
    }

    fn left(&self, probe: bool) {
        if probe {
            self.held().probing = false;
        }
    }

    fn held(&self) -> MutexGuard<'_, Outcomes> {
        self.held.lock()
    }
}

/// Many gateways in front of one service do not come back in step.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.9 + fastrand::f64() * 0.2)
}

/// A call that the breaker let through. One that is dropped with no judgement was broken off: by the operation's deadline,
/// which counts against the service, or by its caller, which does not.
#[derive(Debug)]
pub(crate) struct Attempt {
    breaker: Arc<Breaker>,
    probe: bool,
    deadline: Option<Instant>,
    judged: bool,
}

impl Attempt {
    /// What is waited for from now on is not the service.
    pub(crate) fn pause(&mut self) -> Option<Instant> {
        self.deadline.take()
    }

    /// It is the service again.
    pub(crate) fn go_on(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// The service answered, whatever it said.
    pub(crate) fn answered(mut self) {
        self.judged = true;
        self.breaker.answered(self.probe);
    }

    /// The service did not answer.
    pub(crate) fn failed(mut self) {
        self.judged = true;
        self.breaker.failed(self.probe);
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.judged {
            return;
        }
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            self.breaker.failed(self.probe);
        } else {
            self.breaker.left(self.probe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker() -> Arc<Breaker> {
        let pause = Duration::from_secs(1);
        Breaker::new(BreakerConfig { failures: 3, pause, max_pause: 4 * pause })
    }

    fn fail(breaker: &Arc<Breaker>) {
        breaker.admit(None).unwrap().failed();
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_failures_in_a_row_and_an_answer_starts_the_count_again() {
        let breaker = breaker();
        fail(&breaker);
        fail(&breaker);
        breaker.admit(None).unwrap().answered();
        fail(&breaker);
        fail(&breaker);
        assert_eq!(breaker.state(), BreakerState::Closed);
        fail(&breaker);
        assert!(breaker.admit(None).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_finds_out_and_the_others_wait_for_it() {
        let breaker = breaker();
        (0..3).for_each(|_| fail(&breaker));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        let probe = breaker.admit(None).unwrap();
        assert!(breaker.admit(None).is_err(), "one at a time");
        // A caller that leaves says nothing about the service, and another one may look.
        drop(probe);
        breaker.admit(None).unwrap().answered();
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert!(breaker.admit(None).is_ok() && breaker.admit(None).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_grows_with_each_probe_that_fails_and_not_for_ever() {
        let breaker = breaker();
        (0..3).for_each(|_| fail(&breaker));
        for max in [2, 4, 4] {
            tokio::time::advance(Duration::from_secs(5)).await;
            fail(&breaker);
            let Err(pause) = breaker.admit(None) else { panic!("it is open") };
            assert!(pause <= Duration::from_millis(max * 1100), "{pause:?}");
            assert!(pause >= Duration::from_millis(max * 800), "{pause:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_ran_into_its_deadline_counts_and_one_that_was_called_off_does_not() {
        let breaker = breaker();
        let soon = Instant::now() + Duration::from_millis(10);
        for _ in 0..3 {
            drop(breaker.admit(Some(soon)).unwrap());
        }
        assert_eq!(breaker.failures(), 0);
        let late: Vec<_> = (0..3).map(|_| breaker.admit(Some(soon)).unwrap()).collect();
        tokio::time::advance(Duration::from_millis(20)).await;
        drop(late);
        assert!(matches!(breaker.state(), BreakerState::Open { .. }));
    }
}
