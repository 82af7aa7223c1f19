//! A declared failure, made ready: what never changes between two occurrences of it.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock, OnceLock},
};

use redress_contract::{
    Binding, Breach, Code, Effect, EngineCode, FailureDeclaration, Json, Printed, Problem, Recovery, RecoveryStep,
    Retry, Shape, Started, Template, Verb,
};
use redress_input::{InputShape, breach_of};
use serde_json::Value;

use crate::{AnyFailure, Registry, call::next_call::PreparedNextCall};

/// A declared failure, made ready.
pub(crate) struct Prepared {
    pub(crate) declaration: FailureDeclaration,
    pub(crate) template: Option<Template>,
    hint: Arc<str>,
    extends: Arc<[Code]>,
    docs_url: Arc<str>,
    step: Option<RecoveryStep>,
    next: Option<PreparedNextCall>,
    next_fits: OnceLock<bool>,
    details: OnceLock<Option<InputShape>>,
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
    pub(crate) fn new(declaration: FailureDeclaration) -> Prepared {
        let recovery = declaration.recovery();
        let (step, next) = match recovery.map(Recovery::verb) {
            None => (None, None),
            Some(Verb::FixInput { pointer }) => {
                (Some(RecoveryStep::FixInput { pointer: pointer.as_str().into() }), None)
            }
            Some(Verb::Call { operation, bind, why }) => {
                let next = PreparedNextCall::new(operation, bind, why.as_deref());
                (Some(RecoveryStep::Call { operation: operation.clone() }), Some(next))
            }
            Some(Verb::Verify { operation, bind, why, done }) => {
                let next = PreparedNextCall::new(operation, bind, why.as_deref());
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
            next_fits: OnceLock::new(),
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

    /// See [`crate::warm_up`].
    pub(crate) fn warm_up() {
        Prepared::engine(EngineCode::Internal);
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

    /// Whether this is the hint that is declared, and not one of a call site.
    pub(crate) fn is_hint(&self, hint: &Arc<str>) -> bool {
        Arc::ptr_eq(&self.hint, hint)
    }

    /// Whether the input of the next call fits whatever the failure's fields are, so that no occurrence has to look.
    /// It does where the schema of that input is the only judge of it, says nothing about the whole, and nothing but a type
    /// about what is bound: that the types agree was proved when the registry was built.
    pub(crate) fn next_fits(&self, registry: &Registry) -> bool {
        *self.next_fits.get_or_init(|| {
            let target = self.declaration.recovery().and_then(Recovery::target);
            let target = target.and_then(|target| registry.find(target.as_str()));
            let (Some(target), Some(Verb::Call { bind, .. } | Verb::Verify { bind, .. })) =
                (target, self.declaration.recovery().map(Recovery::verb))
            else {
                return false;
            };
            let input = target.declaration.input();
            let plain = |binding: &Binding| input.property(&binding.field).is_some_and(is_plain);
            !target.typed && names_members_only(input.as_value()) && bind.iter().all(plain)
        })
    }

    /// What every occurrence has in common with `problem`, the first one, already written.
    pub(crate) fn printed(&self, problem: &Problem) -> Arc<Printed> {
        Arc::clone(self.printed.get_or_init(|| Arc::new(Printed::of(problem))))
    }

    /// Where `details` are not what the declaration says. The schema is compiled when the
    /// failure first happens.
    pub(crate) fn details_breach(&self, details: Option<&Json>) -> Option<Breach> {
        let shape =
            self.details.get_or_init(|| InputShape::dynamic(self.declaration.details().as_value().clone()).ok());
        breach_of(shape.as_ref(), details.map_or(b"{}", |raw| raw.get().as_bytes()))
    }
}

/// Whether a schema says of an object no more than which members there are.
fn names_members_only(schema: &Value) -> bool {
    const WORDS: [&str; 4] = ["type", "properties", "required", "additionalProperties"];
    schema.as_object().is_some_and(|keywords| keywords.keys().all(|word| WORDS.contains(&word.as_str()) || notes(word)))
}

/// Whether a schema says of a value no more than that it is a text, a whole number or a truth value. Of other numbers
/// some cannot be written.
fn is_plain(schema: &Value) -> bool {
    let typed = ["string", "integer", "boolean"].iter().any(|name| schema.get("type").is_some_and(|said| said == name));
    typed && schema.as_object().is_some_and(|keywords| keywords.keys().all(|word| *word == "type" || notes(word)))
}

/// Whether a keyword only explains.
fn notes(word: &str) -> bool {
    ["title", "description", "default", "examples", "deprecated", "$comment", "$schema", "$defs"].contains(&word)
}
