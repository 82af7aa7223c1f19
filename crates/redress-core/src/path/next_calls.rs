//! Next calls: what a failure names is what its caller could call now, with an input that is accepted.
//!
//! Why so:
//! - docs/decisions/0057-a-next-action-can-be-made.md
//! - docs/decisions/0069-advice-that-does-not-contradict-itself.md

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use redress_contract::{Effect, EngineCode, Json, Name, NextAction, Problem, RecoveryStep, Retry, Shape, Started};

use super::{Call, FailedCall};
use crate::{
    offload::LARGE,
    registry::{RegisteredOperation, prepared::Prepared},
};

impl Call {
    /// Takes out of a bad ending whatever its caller could not do now. Every ending passes here, whoever made it.
    pub(super) fn keep_callable(&self, bad: &mut FailedCall) {
        let FailedCall { problem, next_fits, .. } = bad;
        if let Some(target) = problem.recovery.as_ref().and_then(RecoveryStep::target)
            && self.callable(target).is_none()
        {
            if matches!(problem.recovery, Some(RecoveryStep::Verify { .. })) {
                self.without_query(problem);
            }
            problem.recovery = Some(RecoveryStep::without_target());
        }
        self.keep_safe(problem);
        let code = &problem.code;
        problem.next_actions.retain(|action| {
            let Some(entry) = self.callable(&action.operation) else { return false };
            let fits = if *next_fits { is_small(entry, &action.input) } else { self.accepts(entry, &action.input) };
            if !fits {
                let next = entry.declaration.name();
                tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), code = code.as_str(), %next, "the input of a next action does not fit, and it is left out");
            }
            fits
        });
    }

    /// Leaves nothing in a bad ending that has a call made again which must not be. A hint that was written for those who
    /// may come again goes with the step. The engine's own say to follow `retry` where a call may have run, and what a
    /// call site says of this very call stays.
    fn keep_safe(&self, problem: &mut Problem) {
        if !problem.ask_where_unsafe() {
            return;
        }
        let declared = self.ctx.entry.as_ref().and_then(|entry| entry.failure(problem.code.as_str()));
        let engine = EngineCode::parse(problem.code.as_str()).map(Prepared::engine);
        let engine = engine.filter(|prepared| prepared.declaration.effect() == Effect::None);
        if declared.or(engine).is_some_and(|prepared| prepared.is_hint(&problem.hint)) {
            problem.hint = Problem::FIND_OUT.into();
        }
    }

    /// Takes a declared verification back from whoever cannot make the query: the advice is what it would be without
    /// one, and the hint tells of no query.
    fn without_query(&self, problem: &mut Problem) {
        if problem.retry == Retry::AfterVerify {
            let declared = self.ctx.entry.as_ref().and_then(|entry| entry.failure(problem.code.as_str()));
            let retryable =
                declared.map_or_else(|| problem.kind.retryable(), |prepared| prepared.declaration.retryable());
            // To verify is advised only after a mutation had started, and where no key settles it.
            problem.retry = Retry::advise(retryable, problem.effect, Shape::Mutation, Started::Yes, None);
        }
        problem.hint = match problem.retry {
            Retry::Safe => "Make the same call again: nothing has been changed.",
            Retry::SafeWithKey => "Make the same call again with the same idempotency key.",
            Retry::AfterVerify | Retry::Unsafe | Retry::AfterFix | Retry::Never => Problem::FIND_OUT,
        }
        .into();
    }

    /// Those of the actions that a call site adds which its caller could take now.
    pub(super) fn next_at_site(&self, mut actions: Vec<NextAction>, code: &str) -> Vec<NextAction> {
        actions.retain(|action| {
            let why = match self.callable(&action.operation) {
                Some(entry) if self.accepts(entry, &action.input) => return true,
                Some(_) => "its input does not fit",
                None if self.ctx.registry.find(action.operation.as_str()).is_some() => "its caller cannot call that",
                None => "there is no such operation",
            };
            // A name that is not known may come from anywhere.
            let known = self.ctx.registry.find(action.operation.as_str());
            let next = known.map(|entry| tracing::field::display(entry.declaration.name()));
            tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), code, next, why, "a next action of the call site is left out");
            false
        });
        actions
    }

    /// The operation that the caller of this call could call by this name now, for one answer. Who is told the ending of
    /// a composed call is an operation, for which internal ones are there too. What is for persons alone, consents above
    /// all, is never named: an agent makes the calls that it is advised to make.
    pub(super) fn callable(&self, name: &Name) -> Option<&RegisteredOperation> {
        let (registry, caller) = (&self.ctx.registry, self.ctx.caller());
        let open =
            |entry: &&Arc<RegisteredOperation>| !entry.is_hidden() && entry.declaration.access().admit(caller).is_ok();
        let entry = match &self.ctx.parent {
            None => registry.callable(name.as_str(), caller),
            Some(_) => registry.find(name.as_str()).filter(open),
        };
        let once = |entry: &&RegisteredOperation| entry.declaration.shape() != Shape::Subscription;
        entry.map(|entry| &**entry).filter(once).filter(|entry| !entry.declaration.access().is_for_persons())
    }

    /// Whether the operation takes this input, by the judgement of the call itself. What is large would be work for
    /// elsewhere, and nobody repeats that.
    fn accepts(&self, entry: &RegisteredOperation, input: &Json) -> bool {
        let json = input.get().as_bytes();
        // To read it runs code of the author's.
        let accepts = || self.extent().measure(json).is_none() && entry.accepts(json);
        is_small(entry, input) && json.len() <= LARGE && catch_unwind(AssertUnwindSafe(accepts)).unwrap_or(false)
    }
}

fn is_small(entry: &RegisteredOperation, input: &Json) -> bool {
    input.get().len() <= entry.max_input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Registry, Request, registry::prepared::Occurrence};

    #[test]
    fn no_ending_has_a_call_made_again_that_must_not_be() {
        let registry = Registry::builder().build().unwrap();
        let (mut unsafe_ones, mut waits) = (0, 0);
        for code in EngineCode::ALL {
            for shape in [Shape::Query, Shape::Mutation, Shape::Subscription] {
                for effect in [Effect::None, Effect::Partial, Effect::Unknown] {
                    for started in [Started::No, Started::Yes, Started::WithKey] {
                        let prepared = Prepared::engine(code);
                        let mut problem = prepared.problem(Occurrence {
                            shape,
                            started,
                            message: code.message().into(),
                            details: None,
                            retry_after_ms: Some(1000),
                            failure: None,
                        });
                        let recovery = prepared.declaration.recovery();
                        problem.effect = effect;
                        problem.retryable = false;
                        problem.retry = Retry::advise(code.kind().retryable(), effect, shape, started, recovery);
                        let (mut call, _) = registry.begin("", Request::default());
                        let envelope = call.end_outside(Err(FailedCall::new(problem).into()));
                        let told = envelope.problem().unwrap();
                        let step = told.recovery.as_ref().unwrap();
                        let about = format!("{code} {shape:?} {effect:?} {started:?}: {told:?}");
                        if told.retry == Retry::Unsafe {
                            unsafe_ones += 1;
                            assert!(!step.repeats() && told.retry_after_ms.is_none(), "{about}");
                            assert!(!told.hint.contains("same call again.") && !told.retryable, "{about}");
                        } else {
                            waits += usize::from(*step == RecoveryStep::Wait && told.retry_after_ms.is_some());
                        }
                    }
                }
            }
        }
        assert!(unsafe_ones >= 8 && waits > 50, "{unsafe_ones} {waits}");
    }
}
