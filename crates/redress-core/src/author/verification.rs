//! How the caller of a mutation finds out whether it took place, made ready.
//!
//! Why so: docs/decisions/0060-verify-is-declared-twice.md.

use std::sync::Arc;

use redress_contract::{NextAction, Recovery, RecoveryStep, Verification};

use crate::call::next_call::PreparedNextCall;

/// A verification of an operation, made ready: what never changes between two calls.
pub(crate) struct Verifying {
    pub(crate) recovery: Recovery,
    pub(crate) hint: Arc<str>,
    pub(crate) step: RecoveryStep,
    next: PreparedNextCall,
}

impl Verifying {
    pub(crate) fn new(verification: &Verification) -> Verifying {
        let operation = verification.target();
        Verifying {
            recovery: verification.clone().into(),
            hint: verification.hint().into(),
            step: RecoveryStep::Verify { operation: operation.clone(), done: Arc::new(verification.done().clone()) },
            next: PreparedNextCall::new(operation, verification.bindings(), verification.reason()),
        }
    }

    /// The query that shows whether a call with this `input` took place.
    pub(crate) fn query(&self, input: &[u8]) -> Option<NextAction> {
        self.next.after_input(input)
    }
}
