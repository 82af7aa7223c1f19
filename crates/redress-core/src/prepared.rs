//! A declared failure, made ready: what never changes between two occurrences of it.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock, OnceLock},
};

use redress_contract::{
    Code, Effect, EngineCode, Failure, Json, Printed, Problem, Recovery, RecoveryStep, Retry, Shape, Started, Template,
    Verb,
};

use crate::{AnyFailure, input, next::Next};

/// A declared failure, made ready.
pub(crate) struct Prepared {
    pub(crate) declaration: Failure,
    pub(crate) template: Option<Template>,
    hint: Arc<str>,
    extends: Arc<[Code]>,
    docs_url: Arc<str>,
    step: Option<RecoveryStep>,
    next: Option<Next>,
    details: OnceLock<Option<input::Shape>>,
    printed: OnceLock<Arc<Printed>>,
}

/// What a call knows about one occurrence of a failure.
pub(crate) struct Occurrence<'a> {
    pub(crate) shape: Shape,
    pub(crate) started: Started,
    pub(crate) message: Cow<'static, str>,
    pub(crate) details: Option<Json>,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) failure: Option<&'a dyn AnyFailure>,
}

impl Prepared {
    pub(crate) fn new(declaration: Failure) -> Prepared {
        let recovery = declaration.recovery();
        let (step, next) = match recovery.map(Recovery::verb) {
            None => (None, None),
            Some(Verb::FixInput { pointer }) => {
                (Some(RecoveryStep::FixInput { pointer: pointer.as_str().into() }), None)
            }
            Some(Verb::Call { operation, bind, why }) => {
                let next = Next::new(operation, bind, why.as_deref());
                (Some(RecoveryStep::Call { operation: operation.clone() }), Some(next))
            }
            Some(Verb::Verify { operation, bind, why, done }) => {
                let next = Next::new(operation, bind, why.as_deref());
                let step = RecoveryStep::Verify { operation: operation.clone(), done: Arc::new(done.clone()) };
                (Some(step), Some(next))
            }
            Some(Verb::Wait) => (Some(RecoveryStep::Wait), None),
            Some(Verb::AskUser) => (Some(RecoveryStep::AskUser), None),
            Some(Verb::GetAccess { scope }) => (Some(RecoveryStep::GetAccess { scope: scope.as_str().into() }), None),
            Some(Verb::Stop) => (Some(RecoveryStep::Stop), None),
        };
        Prepared {
            template: Template::new(declaration.message()).ok(),
            hint: recovery.map_or("", Recovery::hint).into(),
            extends: declaration.extends().into(),
            docs_url: declaration.code().docs_url().into(),
            step,
            next,
            details: OnceLock::new(),
            printed: OnceLock::new(),
            declaration,
        }
    }

    /// The engine's own failures, made ready once for the whole process.
    pub(crate) fn engine(code: EngineCode) -> &'static Prepared {
        static ENGINE: LazyLock<Vec<Prepared>> =
            LazyLock::new(|| EngineCode::ALL.into_iter().map(|code| Prepared::new(code.declaration())).collect());
        // `ALL` is in the order of the enum, so the discriminant is the place in it.
        ENGINE.get(code as usize).expect("every engine code is in `EngineCode::ALL`")
    }

    /// What the caller sees of one occurrence.
    pub(crate) fn problem(&self, occurrence: Occurrence<'_>) -> Problem {
        let declaration = &self.declaration;
        let retry = Retry::advise(
            declaration.retryable(),
            if occurrence.started == Started::No { Effect::None } else { declaration.effect() },
            occurrence.shape,
            occurrence.started,
            declaration.recovery(),
        );
        let next_actions = match (&self.next, occurrence.failure) {
            (Some(next), Some(failure)) => next.after(failure).map_or_else(Vec::new, |action| vec![action]),
            (Some(_), None) | (None, _) => Vec::new(),
        };
        Problem {
            error: occurrence.message,
            code: declaration.code().clone(),
            kind: declaration.kind(),
            extends: Arc::clone(&self.extends),
            hint: Arc::clone(&self.hint),
            // Alone, `retryable` must never say yes to a call whose effect may come twice.
            retryable: declaration.retryable() && retry.says_yes(),
            retry,
            retry_after_ms: occurrence.retry_after_ms,
            effect: if occurrence.started == Started::No { Effect::None } else { declaration.effect() },
            http: declaration.http(),
            recovery: self.step.clone(),
            next_actions,
            similar: Vec::new(),
            details: occurrence.details,
            docs_url: Arc::clone(&self.docs_url),
        }
    }

    /// What every occurrence has in common with `problem`, the first one, already written.
    pub(crate) fn printed(&self, problem: &Problem) -> Arc<Printed> {
        Arc::clone(self.printed.get_or_init(|| Arc::new(Printed::of(problem))))
    }

    /// Where `details` are not what the declaration says. The schema is compiled when the
    /// failure first happens.
    pub(crate) fn details_breach(&self, details: Option<&Json>) -> Option<input::Breach> {
        let shape =
            self.details.get_or_init(|| input::Shape::dynamic(self.declaration.details().as_value().clone()).ok());
        input::Breach::of(shape.as_ref(), details.map_or(b"{}", |raw| raw.get().as_bytes()))
    }
}
