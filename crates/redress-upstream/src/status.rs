//! What is known about an upstream, for readiness, metrics and whoever looks for what is wrong.

use std::sync::atomic::AtomicU64;

use crate::{BreakerState, CredentialStatus};

/// What is known about an upstream. It holds no secret and nothing of any call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamStatus {
    /// What it is called.
    pub name: String,
    /// Where it is, without what may be secret in an address.
    pub address: String,
    /// How many operations it carries out.
    pub operations: usize,
    /// Where its breaker stands.
    pub breaker: BreakerState,
    /// Calls in a row that got no answer.
    pub failures: u32,
    /// What went wrong last, in a word; nothing where nothing has.
    pub trouble: Option<&'static str>,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// How many requests were sent since the start, those that were sent again included.
    pub sent: u64,
    /// How many of these were sent again.
    pub retried: u64,
    /// What is known about the credentials of each security scheme.
    pub credentials: Vec<CredentialStatus>,
}

impl UpstreamStatus {
    /// Whether calls go through, as far as is known.
    pub fn is_ready(&self) -> bool {
        self.breaker == BreakerState::Closed
    }

    /// Where it stands, in a word: `connected`, `degraded` (calls fail, and still go through), `cooling_down` (nothing is
    /// sent) or `probing`.
    pub fn state(&self) -> &'static str {
        state(self.breaker, self.failures)
    }
}

/// How an upstream does, as far as the calls so far tell. To ask for it opens nothing and waits for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamHealth {
    /// What it is called.
    pub name: String,
    /// Where its breaker stands.
    pub breaker: BreakerState,
    /// Where it stands in a word, as [`UpstreamStatus::state`] says it.
    pub state: &'static str,
    /// What went wrong last, in a word; nothing where nothing has.
    pub trouble: Option<&'static str>,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// How many requests were sent since the start, those that were sent again included.
    pub sent: u64,
    /// How many calls it did not answer, or not as its document says.
    pub failed: u64,
}

/// Where an upstream stands, in a word.
pub(crate) fn state(breaker: BreakerState, failures: u32) -> &'static str {
    match breaker {
        BreakerState::Closed if failures == 0 => "connected",
        BreakerState::Closed => "degraded",
        BreakerState::Open { .. } => "cooling_down",
        BreakerState::HalfOpen => "probing",
    }
}

/// What is counted of an upstream.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) failed: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) retried: AtomicU64,
}
