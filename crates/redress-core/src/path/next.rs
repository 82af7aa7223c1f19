//! Next calls: what a failure names is what its caller could call now, with an input that is accepted.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use redress_contract::{Json, Name, NextAction, Problem, RecoveryStep, Retry, Shape, Started};

use super::{Bad, Call, verify::FIND_OUT};
use crate::{offload::LARGE, registry::Entry};

impl Call {
    /// Takes out of a bad ending whatever its caller could not do now. Every ending passes here, whoever made it.
    pub(super) fn keep_callable(&self, bad: &mut Bad) {
        let Bad { problem, next_fits, .. } = bad;
        if let Some(target) = problem.recovery.as_ref().and_then(RecoveryStep::target)
            && self.callable(target).is_none()
        {
            if matches!(problem.recovery, Some(RecoveryStep::Verify { .. })) {
                self.without_query(problem);
            }
            problem.recovery = Some(RecoveryStep::without_target());
        }
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
            Retry::AfterVerify | Retry::Unsafe | Retry::AfterFix | Retry::Never => FIND_OUT,
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
    pub(super) fn callable(&self, name: &Name) -> Option<&Entry> {
        let (registry, caller) = (&self.ctx.registry, self.ctx.caller());
        let open = |entry: &&Arc<Entry>| !entry.is_hidden() && entry.declaration.access().admit(caller).is_ok();
        let entry = match &self.ctx.parent {
            None => registry.callable(name.as_str(), caller),
            Some(_) => registry.find(name.as_str()).filter(open),
        };
        let once = |entry: &&Entry| entry.declaration.shape() != Shape::Subscription;
        entry.map(|entry| &**entry).filter(once).filter(|entry| !entry.declaration.access().is_for_persons())
    }

    /// Whether the operation takes this input, by the judgement of the call itself. What is large would be work for
    /// elsewhere, and nobody repeats that.
    fn accepts(&self, entry: &Entry, input: &Json) -> bool {
        let json = input.get().as_bytes();
        // To read it runs code of the author's.
        let accepts = || self.extent().measure(json).is_none() && entry.accepts(json);
        is_small(entry, input) && json.len() <= LARGE && catch_unwind(AssertUnwindSafe(accepts)).unwrap_or(false)
    }
}

fn is_small(entry: &Entry, input: &Json) -> bool {
    input.get().len() <= entry.max_input
}
