//! Quotas: a call is set aside in the allowances of its caller among the limits, and counted right before its handler
//! runs. What is refused in between, or never starts, is given back.

use redress_contract::{EngineCode, Json, Started};

use super::{Call, CallStop, FailedCall};
use crate::{Exhausted, QuotaHold, QuotaRefused, QuotaShare, registry::RegisteredOperation};

/// What the allowances of the caller have said.
pub(super) enum QuotaReservation {
    /// The call is set aside, and given back when this is dropped.
    Held(Box<dyn QuotaHold>),
    /// One is used up, and the call has a key: it may still get the outcome that it had before, and nothing else.
    Exhausted(Box<Exhausted>),
}

impl QuotaReservation {
    /// What is used up, where something is.
    pub(super) fn exhausted(&self) -> Option<&Exhausted> {
        if let QuotaReservation::Exhausted(exhausted) = self { Some(exhausted) } else { None }
    }
}

/// A call that is counted. Where its handler has not started, or goes on in a next round, it is given back.
pub(super) struct CountedQuota<'a> {
    call: &'a Call,
    hold: Option<Box<dyn QuotaHold>>,
}

impl Call {
    /// Sets the call aside in the allowances that the limits name. A composed call is taken from none: the call that
    /// makes it has been.
    pub(super) async fn set_aside(&self, entry: &RegisteredOperation) -> Result<Option<QuotaReservation>, CallStop> {
        let registry = &self.ctx.registry.0;
        if !registry.has_quotas || self.ctx.parent.is_some() {
            return Ok(None);
        }
        let call = self.limited(entry);
        let shares: Vec<QuotaShare> = registry.limits.iter().flat_map(|limit| limit.quotas(&call)).collect();
        if shares.is_empty() {
            return Ok(None);
        }
        let Some(store) = &registry.quotas else {
            tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), "a call has a quota and nothing counts it, so it is refused");
            return Err(Call::cannot_keep().into());
        };
        let caller = self.ctx.key_holder();
        let reserved = self.within(async { Ok(store.reserve(&caller, &shares).await) }).await?;
        match reserved {
            Ok(hold) => Ok(Some(QuotaReservation::Held(hold))),
            Err(QuotaRefused::Exhausted(exhausted)) if self.has_key(entry) => {
                Ok(Some(QuotaReservation::Exhausted(exhausted)))
            }
            Err(QuotaRefused::Exhausted(exhausted)) => Err(self.exhausted(&exhausted).into()),
            Err(QuotaRefused::Broken(error)) => {
                tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), cause = %self.logged(&*error.0), "a quota cannot be read, and the call is refused");
                Err(Call::cannot_keep().into())
            }
        }
    }

    /// Counts the call, so that it stays counted whatever becomes of the process while its handler runs.
    pub(super) async fn counted(&self, quota: Option<QuotaReservation>) -> Result<Option<CountedQuota<'_>>, CallStop> {
        let mut hold = match quota {
            None => return Ok(None),
            Some(QuotaReservation::Exhausted(exhausted)) => return Err(self.exhausted(&exhausted).into()),
            Some(QuotaReservation::Held(hold)) => hold,
        };
        match self.within(async { Ok(hold.count().await) }).await? {
            Ok(allowances) => {
                // A call is counted once.
                let _ = self.allowances.set(allowances.into());
                Ok(Some(CountedQuota { call: self, hold: Some(hold) }))
            }
            Err(error) => {
                tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), cause = %self.logged(&*error.0), "a call cannot be counted, and is refused");
                Err(Call::cannot_keep().into())
            }
        }
    }

    fn has_key(&self, entry: &RegisteredOperation) -> bool {
        self.ctx.idempotency_key.is_some() && entry.declaration.takes_idempotency_key()
    }

    #[cold]
    pub(super) fn exhausted(&self, exhausted: &Exhausted) -> Box<FailedCall> {
        let _ = self.allowances.set(exhausted.allowances.clone().into());
        let (details, wait) = (Json::of(&exhausted.told()).ok(), exhausted.retry_after_ms());
        FailedCall::new(self.engine(EngineCode::QuotaExhausted, details, Some(wait)))
    }
}

impl CountedQuota<'_> {
    /// The handler has ended, or its call ends with a question and goes on in a next round. That a question is open
    /// says nothing: the handler may have come to its end without the answer.
    pub(super) fn ended(mut self, asks: bool) {
        if asks {
            drop(self.hold.take());
        }
    }
}

/// A call that is cut off in the middle stays counted.
impl Drop for CountedQuota<'_> {
    fn drop(&mut self) {
        if self.call.started() != Started::No
            && let Some(hold) = self.hold.take()
        {
            hold.spend();
        }
    }
}
