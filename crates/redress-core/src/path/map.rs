//! Map the failure and check the output: nothing leaves that was not declared.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use redress_contract::{Code, Effect, EncodeError, EngineCode, Json, Kind, Output, Problem, Retry, Shape};
use serde_json::json;

use super::{
    Bad, Call,
    drive::{Driven, panic_text},
};
use crate::{
    AnyFailure, AskError, Called, Classification, DynamicFailure, Fault,
    encode::OutputUnwritten,
    fail::{Cause, Ending},
    prepared::{Occurrence, Prepared},
    registry::Entry,
};

impl Call {
    /// Turns how the handler ended into an outcome.
    pub(super) fn map<T>(&self, entry: &Entry, driven: Driven<Result<T, Box<Ending>>>) -> Result<T, Box<Bad>> {
        match driven {
            Driven::Returned(Ok(output)) => Ok(output),
            Driven::Returned(Err(ending)) => Err(self.map_ending(entry, *ending)),
            Driven::Panicked(payload) => Err(self.map_panic(&*payload)),
            // What a mutation did before it waited, nobody knows.
            Driven::NoRoom if entry.declaration.shape() == Shape::Query => Err(self.no_room()),
            Driven::TimedOut | Driven::NoRoom => {
                let given = self.ctx.deadline.map(|deadline| deadline.duration_since(self.since).as_millis());
                Err(self.refuse_with(EngineCode::Timeout, &json!({"deadline_ms": given})))
            }
            Driven::Cancelled => Err(self.refuse(EngineCode::Cancelled)),
            Driven::Asks => Err(self.asks()),
        }
    }

    /// A panic is contained: its text goes to the log and nowhere else.
    pub(super) fn map_panic(&self, payload: &(dyn std::any::Any + Send)) -> Box<Bad> {
        tracing::error!(request_id = %self.ctx.request_id, panic = panic_text(payload), "a handler panicked");
        self.refuse(EngineCode::Internal).by(Fault::Panic)
    }

    /// A bad ending that the handler itself returned. Telling it apart runs code of the
    /// author's (`Display`, `Serialize`, `source`), which may panic like the handler itself.
    pub(super) fn map_ending(&self, entry: &Entry, ending: Ending) -> Box<Bad> {
        match catch_unwind(AssertUnwindSafe(|| self.tell_apart(entry, ending))) {
            Ok(bad) => bad,
            Err(payload) => self.map_panic(&*payload),
        }
    }

    fn tell_apart(&self, entry: &Entry, ending: Ending) -> Box<Bad> {
        let Ending { cause, hint, next_actions, similar } = ending;
        match cause {
            Cause::Failure(failure) => {
                let mut bad = self.map_failure(entry, failure);
                // Only a declared failure keeps what the call site added to it.
                if bad.failure.is_some() {
                    if let Some(hint) = hint {
                        bad.problem.hint = hint.into();
                    }
                    if !next_actions.is_empty() {
                        bad.problem.next_actions = next_actions;
                    }
                    bad.problem.similar = similar;
                }
                bad
            }
            // Whatever a cancelled handler throws, the reason is the cancellation.
            Cause::Foreign(_) if self.ctx.is_cancelled() => self.refuse(EngineCode::Cancelled),
            Cause::Foreign(error) => self.map_foreign(&*error),
        }
    }

    /// A structured failure: (1) a declared code passes, its details checked; (2) any other
    /// becomes INTERNAL, with only its code in the details (K-37, K-38).
    pub(super) fn map_failure(&self, entry: &Entry, failure: Arc<dyn AnyFailure>) -> Box<Bad> {
        let Some(prepared) = entry.failure(failure.code()) else {
            tracing::error!(request_id = %self.ctx.request_id, operation = %entry.declaration.name(), undeclared = failure.code(), cause = %Causes(&*failure), "a failure was not declared");
            // A text that is not a code may hold anything, so it does not leave.
            let bad = match Code::new(failure.code()) {
                Ok(code) => self.refuse_with(EngineCode::Internal, &json!({"undeclared_code": code})),
                Err(_) => self.refuse(EngineCode::Internal),
            };
            return bad.by(Fault::Undeclared);
        };
        let details = match failure.details() {
            Ok(details) => details,
            Err(error) => {
                tracing::error!(request_id = %self.ctx.request_id, code = failure.code(), cause = %error, "the details of a failure cannot be written");
                return self.refuse(EngineCode::Internal).by(Fault::Output);
            }
        };
        let dynamic = failure.as_any().downcast_ref::<DynamicFailure>();
        if (entry.checked || dynamic.is_some()) && !prepared.details_fit(details.as_ref()) {
            tracing::error!(request_id = %self.ctx.request_id, code = failure.code(), "the details of a failure break their schema");
            return self.refuse(EngineCode::Internal).by(Fault::Output);
        }
        if std::error::Error::source(&*failure).is_some() {
            tracing::debug!(request_id = %self.ctx.request_id, code = failure.code(), cause = %Causes(&*failure), "a declared failure has a cause");
        }
        let problem = self.declared(entry, prepared, &*failure, dynamic, details);
        let printed = Some(prepared.printed(&problem));
        Box::new(Bad { problem, printed, failure: Some(failure), fault: None, asks: false })
    }

    fn declared(
        &self,
        entry: &Entry,
        prepared: &Prepared,
        failure: &dyn AnyFailure,
        dynamic: Option<&DynamicFailure>,
        details: Option<Json>,
    ) -> Problem {
        let message = match dynamic {
            None => failure.to_string(),
            Some(dynamic) => match &prepared.template {
                Some(template) => template.render(dynamic.fields()),
                None => prepared.declaration.when().to_owned(),
            },
        };
        let from_field = || {
            let field = prepared.declaration.retry_after()?;
            dynamic?.fields().get(field)?.as_u64()
        };
        prepared.problem(Occurrence {
            shape: entry.declaration.shape(),
            started: self.started(),
            message: Cow::Owned(message),
            retry_after_ms: failure.retry_after_ms().or_else(from_field),
            details,
            failure: Some(failure),
        })
    }

    /// (3) Anything else is classified, and none of its text leaves (K-39, M-52).
    fn map_foreign(&self, error: &(dyn std::error::Error + Send + Sync + 'static)) -> Box<Bad> {
        if let Some(OutputUnwritten(EncodeError::TooLarge { max })) = error.downcast_ref() {
            return self.too_large(*max);
        }
        if error.is::<OutputUnwritten>() {
            tracing::error!(request_id = %self.ctx.request_id, cause = %Causes(error), "the output of a handler cannot be written");
            return self.refuse(EngineCode::InvalidOutput);
        }
        if let Some(error) = error.downcast_ref::<AskError>() {
            return self.map_ask(error);
        }
        // A composed call asks the same caller, who can do as much about it.
        if let Some(kind) = Called::unasked_in(error) {
            return self.map_ask(&AskError::Unable(kind));
        }
        let Classification { kind, code, row } = match Called::kind_in(error) {
            Some(kind) => Classification::of_kind(kind, "composed call"),
            None => self.ctx.registry.classifier().classify(error),
        };
        if kind == Kind::Cancelled {
            tracing::debug!(request_id = %self.ctx.request_id, row = &*row, cause = %Causes(error), "a call was cancelled below");
        } else {
            tracing::error!(request_id = %self.ctx.request_id, %kind, row = &*row, cause = %Causes(error), "a fault was contained");
        }
        let mut problem = self.engine(code, None, None);
        problem.kind = kind;
        // The engine's own refusals change nothing, but this one comes from a handler that
        // had started, and nobody knows how far it had come.
        problem.effect = Effect::Unknown;
        if kind.retryable() {
            let shape = self.ctx.entry.as_ref().map_or(Shape::Query, |entry| entry.declaration.shape());
            problem.retry = Retry::advise(true, problem.effect, shape, self.started(), None);
            problem.retryable = problem.retry.says_yes();
        }
        // Elsewhere the code says that nothing has run.
        match (code == EngineCode::Overloaded, problem.retryable) {
            (true, true) => problem.retry_after_ms = Some(COME_AGAIN_MS),
            (true, false) => problem.hint = "Find out what the call has done before you make it again.".into(),
            (false, _) => {}
        }
        let bad = Bad::new(problem);
        if kind == Kind::Cancelled { bad } else { bad.by(Fault::Contained) }
    }

    /// An answer that is too large. The handler came to its own good end, so what a mutation does is done.
    fn too_large(&self, max: usize) -> Box<Bad> {
        let mut bad = self.refuse_with(EngineCode::ResultTooLarge, &json!({"limit_bytes": max}));
        if self.ctx.entry.as_ref().is_some_and(|entry| entry.declaration.shape() == Shape::Mutation) {
            bad.problem.effect = Effect::Unknown;
            bad.problem.retry = Retry::Never;
            bad.problem.recovery = None;
            bad.problem.hint = "The change was made; read what it changed instead of making it again.".into();
        }
        bad
    }

    /// A question that has no answer says so, since it is the caller who can do something.
    fn map_ask(&self, error: &AskError) -> Box<Bad> {
        tracing::debug!(request_id = %self.ctx.request_id, %error, "a question has no answer");
        let mut bad = match error {
            AskError::Unable(kind) => {
                let name = self.ctx.entry.as_ref().map(|entry| entry.declaration.name());
                let details = json!({"operation": name, "asks": kind});
                let mut bad = self.refuse_with(EngineCode::InvalidOperationType, &details);
                bad.problem.hint = "Call it through a client that can be asked: the operation has a question.".into();
                // The method is not what is wrong, so the status does not say so.
                bad.problem.http = 400;
                bad
            }
            AskError::Unfit { id } => self.refuse_with(EngineCode::InvalidInput, &json!({"answer": id})),
            AskError::Gone => self.refuse(EngineCode::Cancelled),
            AskError::TooMany => {
                tracing::error!(request_id = %self.ctx.request_id, "one call asks too many questions");
                self.refuse(EngineCode::Internal)
            }
        };
        // The handler had started, and nobody knows how far it had come.
        bad.problem.effect = Effect::Unknown;
        bad
    }

    /// Checks what the handler gave against what it promised, where that is switched on.
    pub(super) fn check_output(&self, entry: &Entry, output: Output) -> Result<Output, Box<Bad>> {
        if !entry.checked || entry.output_fits(&output) {
            return Ok(output);
        }
        Err(self.unfit_output(entry))
    }

    #[cold]
    pub(super) fn unfit_output(&self, entry: &Entry) -> Box<Bad> {
        tracing::error!(request_id = %self.ctx.request_id, operation = %entry.declaration.name(), "an output breaks its schema");
        self.refuse(EngineCode::InvalidOutput)
    }
}

/// When a call for which there was no capacity may be made again.
const COME_AGAIN_MS: u64 = 1000;

/// An error and its sources, for the log: at most twenty, as a chain may be made to have
/// no end (M-27).
struct Causes<'a>(&'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut separator = "";
        for error in crate::classify::chain(self.0) {
            write!(f, "{separator}{error}")?;
            separator = ": ";
        }
        Ok(())
    }
}
