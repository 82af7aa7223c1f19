//! Audit: each call that access has judged is recorded once, whichever way it ends.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use redress_contract::{EngineCode, Problem, Started};

use super::{Call, CallInput, FailedCall};
use crate::{AuditedCall, Fingerprint, Receipt, Refusal};

/// What is known of a call for its record. A registry with no audit makes none.
pub(super) struct Audited {
    /// The digest of the input; nothing where that is too large to be looked at, or the call came to nothing before.
    input: Option<Fingerprint>,
    repeated: AtomicBool,
    receipt: Option<Receipt>,
}

impl Call {
    /// Takes note that the call will be recorded.
    pub(super) fn note_audited(&mut self) {
        if self.ctx.registry.0.audit.is_some() {
            self.audited = Some(Box::new(Audited { input: None, repeated: AtomicBool::new(false), receipt: None }));
        }
    }

    /// Makes the digest of the input for the record. This waits until the limits have let the call pass, since a flood
    /// that they refuse is not recorded, and goes before whatever may be dropped, when no input is left to look at.
    pub(super) fn note_input(&mut self, call_input: &CallInput<'_>) {
        if self.wants_digest(call_input)
            && let Some(audit) = &self.ctx.registry.0.audit
        {
            let digest = audit.digest(&call_input.input);
            self.note_digest(digest);
        }
    }

    /// Whether the record still lacks the digest of the input.
    #[inline]
    pub(super) fn wants_digest(&self, call_input: &CallInput<'_>) -> bool {
        self.audited.as_ref().is_some_and(|audited| audited.input.is_none())
            && self.ctx.entry.as_ref().is_some_and(|entry| call_input.input.len() <= entry.max_input)
    }

    /// Takes note of the digest of the input.
    pub(super) fn note_digest(&mut self, digest: Fingerprint) {
        if let Some(audited) = &mut self.audited {
            audited.input = Some(digest);
        }
    }

    /// Takes note that the outcome is that of an earlier call.
    pub(super) fn note_repeated(&self) {
        if let Some(audited) = &self.audited {
            audited.repeated.store(true, Ordering::Relaxed);
        }
    }

    /// Refuses a call that could not be recorded (closed, not open): what nobody can account for does not run.
    pub(super) fn recordable(&self) -> Result<(), Box<FailedCall>> {
        match &self.ctx.registry.0.audit {
            Some(audit) if !audit.is_open() => Err(Call::cannot_keep()),
            Some(_) | None => Ok(()),
        }
    }

    /// The refusal of a call that has not started, while a store is broken.
    pub(super) fn cannot_keep() -> Box<FailedCall> {
        FailedCall::new(Refusal::cannot_keep().into_problem())
    }

    /// Records how the call ended, and keeps the receipt for whoever answers.
    pub(super) fn record(&mut self, problem: Option<&Problem>, asks: bool, elapsed: Duration) {
        let (Some(audited), Some(audit), Some(entry)) = (&self.audited, &self.ctx.registry.0.audit, &self.ctx.entry)
        else {
            return;
        };
        if self.started() == Started::No && problem.is_some_and(is_for_want_of_capacity) {
            return;
        }
        let call = AuditedCall {
            request_id: &self.ctx.request_id,
            parent: self.ctx.parent.as_ref(),
            face: self.ctx.face,
            caller: self.ctx.caller.as_deref(),
            operation: &entry.declaration,
            problem,
            asks,
            repeated: audited.repeated.load(Ordering::Relaxed),
            elapsed,
            input: audited.input.as_ref(),
        };
        let receipt = catch_unwind(AssertUnwindSafe(|| audit.record(&call))).unwrap_or_else(|_| {
            tracing::error!(request_id = %self.ctx.request_id, "the audit panicked");
            None
        });
        if let Some(audited) = &mut self.audited {
            audited.receipt = receipt;
        }
    }

    /// What the answer of the call waits for.
    #[inline]
    pub(super) fn receipt(&mut self) -> Option<Receipt> {
        self.audited.as_mut().and_then(|audited| audited.receipt.take())
    }
}

/// A flood is refused with these, and must not fill the disk.
fn is_for_want_of_capacity(problem: &Problem) -> bool {
    let codes = [EngineCode::RateLimited, EngineCode::QuotaExhausted, EngineCode::Overloaded];
    codes.iter().any(|code| problem.code == *code.as_str())
}
