//! Limits: what admits a call, or refuses it, before anything of it is decoded.

use std::{net::IpAddr, sync::Arc};

use redress_contract::{Caller, OperationDeclaration, Shape};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::QuotaShare;

/// A call that a limit is asked about. Nothing of its input has been read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LimitedCall<'a> {
    /// The operation that is called.
    pub operation: &'a OperationDeclaration,
    /// Who calls; nobody, on an operation that is open to the anonymous.
    pub caller: Option<&'a Caller>,
    /// The address that the call came from, where the face knows it.
    pub peer: Option<IpAddr>,
    /// Whether an operation makes it, on behalf of a call that has been admitted already. Its caller is then the
    /// authority of that operation, which all callers of it share.
    pub composed: bool,
}

impl<'a> LimitedCall<'a> {
    /// A call of `operation` by `caller`, from outside.
    pub fn new(operation: &'a OperationDeclaration, caller: Option<&'a Caller>) -> LimitedCall<'a> {
        LimitedCall { operation, caller, peer: None, composed: false }
    }

    /// The same call, come from this address.
    #[must_use]
    pub fn with_peer(mut self, peer: IpAddr) -> LimitedCall<'a> {
        self.peer = Some(peer);
        self
    }
}

/// Why a limit refuses a call: what the caller is told, and nothing that it sent.
///
/// ```
/// use redress_core::Limited;
///
/// let limited = Limited::rate(1200).named("rate", "caller");
/// assert_eq!(limited.retry_after_ms(), Some(1200));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    pub(crate) capacity: bool,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) name: Option<LimitName>,
}

/// Which limit it was, as the details tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct LimitName {
    limit: &'static str,
    per: &'static str,
}

impl Limited {
    /// The caller asks for too much, RATE_LIMITED: there is a chance after so many milliseconds.
    pub fn rate(retry_after_ms: u64) -> Limited {
        Limited { capacity: false, retry_after_ms: Some(retry_after_ms), name: None }
    }

    /// There is no capacity right now, OVERLOADED: there is a chance after so many milliseconds, where that is known.
    pub fn capacity(retry_after_ms: impl Into<Option<u64>>) -> Limited {
        Limited { capacity: true, retry_after_ms: retry_after_ms.into(), name: None }
    }

    /// Names the limit in the details: what it counts, and for whom, such as `rate` and `caller`.
    #[must_use]
    pub fn named(mut self, limit: &'static str, per: &'static str) -> Limited {
        self.name = Some(LimitName { limit, per });
        self
    }

    /// How long to wait, where that is known.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.retry_after_ms
    }
}

/// What an admitted call holds until it ends. Dropping it gives that back.
pub type Permit = Box<dyn Hold>;

/// What an admitted call holds, told how far the call has come.
pub trait Hold: Send + 'static {
    /// Says that the handler runs, so that how long the call takes says something: since it was admitted, or since
    /// this moment where it had to wait after that. A call that is refused later, that gets the outcome of an earlier
    /// one or that asks its caller something is not told of.
    fn ran(&mut self, since: Option<Instant>) {
        let _ = since;
    }
}

impl std::fmt::Debug for dyn Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permit")
    }
}

/// A limit on calls, asked after access and before anything is decoded.
pub trait Limit: Send + Sync + 'static {
    /// Admits the call, with what it holds until it ends, or refuses it.
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited>;

    /// Whether any call is taken from an allowance. It is asked once, when the limit is added to a registry; where it
    /// says no, [`quotas`](Limit::quotas) is never asked.
    fn has_quotas(&self) -> bool {
        false
    }

    /// The allowances that the call is taken from. They are counted by the [`QuotaStore`](crate::QuotaStore) of the
    /// registry; without one, a call that has any is refused.
    fn quotas(&self, call: &LimitedCall<'_>) -> Vec<QuotaShare> {
        let _ = call;
        Vec::new()
    }
}

/// When to come again to a full service, where nothing tells how long its calls take.
const A_WHILE_MS: u64 = 1000;

/// A limit on how many calls run at once. A stream may last for as long as it likes and takes no place; nor does a call
/// that an operation makes, since the call that makes it has one.
#[derive(Debug)]
pub struct InFlight(Arc<Semaphore>);

impl InFlight {
    /// At most `calls` at once.
    pub fn new(calls: usize) -> InFlight {
        InFlight(Arc::new(Semaphore::new(calls)))
    }
}

/// A place among the calls that run.
struct InFlightPermit(#[expect(dead_code, reason = "dropping it is what it is for")] OwnedSemaphorePermit);

impl Hold for InFlightPermit {}

impl Limit for InFlight {
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        if call.composed || call.operation.shape() == Shape::Subscription {
            return Ok(None);
        }
        match Arc::clone(&self.0).try_acquire_owned() {
            Ok(permit) => Ok(Some(Box::new(InFlightPermit(permit)))),
            Err(_) => Err(Limited::capacity(A_WHILE_MS).named("in_flight", "server")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_stream_nor_a_composed_call_takes_a_place() {
        let limit = InFlight::new(1);
        let (read, watch) =
            (OperationDeclaration::query("files.read"), OperationDeclaration::subscription("files.watch"));
        let call = LimitedCall::new(&read, None);
        let held = limit.admit(&call).unwrap();
        let limited = limit.admit(&call).unwrap_err();
        assert!(held.is_some() && limited.capacity && limited.retry_after_ms().is_some());
        assert!(limit.admit(&LimitedCall { composed: true, ..call }).is_ok());
        assert!(limit.admit(&LimitedCall::new(&watch, None)).is_ok());
        drop(held);
        assert!(limit.admit(&call).is_ok());
    }
}
