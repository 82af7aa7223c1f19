//! Map the failure and check the output: nothing leaves that was not declared.
//!
//! Why so:
//! - docs/decisions/0003-private-and-undeclared.md
//! - docs/decisions/0052-contained-faults.md
//! - docs/decisions/0054-what-is-declared-is-decided-by-type.md

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use redress_contract::{
    Breach, Category, Code, Effect, EncodeError, EngineCode, Json, OutputBreach, OutputJson, Problem, Recovery,
    RecoveryStep, Retry, Shape, Started,
};
use serde_json::{Map, Value, json};

use super::{
    Call, CallStop, FailedCall,
    drive::{HandlerRun, panic_text},
};
use crate::{
    AnyFailure, AskError, CallFailed, Classification, DynamicFailure, Fault, UpstreamFailure,
    author::fail::{ErasedFail, FailCause},
    call::{encode::OutputUnwritten, logged_cause::LoggedCause, measure::Measured},
    contained::contain,
    hooks::classify::Judged,
    registry::{
        RegisteredOperation,
        prepared::{Occurrence, Prepared},
    },
    upstream_failure::member_pointer,
};

impl Call {
    /// Turns how the handler ended into an outcome.
    pub(super) fn map<T>(
        &self,
        entry: &RegisteredOperation,
        driven: HandlerRun<Result<T, Box<ErasedFail>>>,
    ) -> Result<T, CallStop> {
        Err(CallStop::Failed(match driven {
            HandlerRun::Returned(Ok(output)) => return Ok(output),
            HandlerRun::Asks => return Err(CallStop::Suspended),
            HandlerRun::Returned(Err(ending)) => self.map_ending(entry, *ending),
            HandlerRun::Panicked(payload) => self.map_panic(&*payload),
            // What a mutation did before it waited, nobody knows.
            HandlerRun::NoRoom if entry.declaration.shape() == Shape::Query => self.no_room(),
            HandlerRun::TimedOut | HandlerRun::NoRoom => self.too_late(),
            HandlerRun::Cancelled => self.refuse(EngineCode::Cancelled),
        }))
    }

    /// The deadline has passed.
    pub(super) fn too_late(&self) -> Box<FailedCall> {
        let given = self.ctx.deadline.map(|deadline| deadline.duration_since(self.since).as_millis());
        self.refuse_with(EngineCode::Timeout, &json!({"deadline_ms": given}))
    }

    /// A panic is contained: its text goes to the log and nowhere else.
    pub(super) fn map_panic(&self, payload: &(dyn std::any::Any + Send)) -> Box<FailedCall> {
        let text =
            LoggedCause::of_text(panic_text(payload)).without(self.ctx.entry.as_ref().map(|entry| &entry.credentials));
        // It may be the log that panicked.
        contain(|| {
            tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = EngineCode::Internal.as_str(), panic = %text, "a handler panicked");
        });
        self.refuse(EngineCode::Internal).by(Fault::Panic)
    }

    /// A bad ending that the handler itself returned. Telling it apart runs code of the
    /// author's (`Display`, `Serialize`, `source`), which may panic like the handler itself.
    pub(super) fn map_ending(&self, entry: &RegisteredOperation, ending: ErasedFail) -> Box<FailedCall> {
        match catch_unwind(AssertUnwindSafe(|| self.tell_apart(entry, ending))) {
            Ok(bad) => bad,
            Err(payload) => self.map_panic(&*payload),
        }
    }

    fn tell_apart(&self, entry: &RegisteredOperation, ending: ErasedFail) -> Box<FailedCall> {
        let ErasedFail { cause, hint, next_actions, similar } = ending;
        match cause {
            FailCause::Failure(failure) => {
                let mut bad = self.map_failure(entry, failure);
                // Only a declared failure keeps what the call site added to it.
                if bad.failure.is_some() {
                    if let Some(hint) = hint {
                        self.hint_at_site(&mut bad, hint);
                    }
                    let next_actions = self.next_at_site(next_actions, bad.problem.code.as_str());
                    // What is declared stays where nothing that was added helps.
                    if !next_actions.is_empty() {
                        bad.problem.next_actions = next_actions;
                        bad.next_fits = true;
                    }
                    bad.problem.similar = similar;
                }
                bad
            }
            FailCause::Undeclared(failure) => self.undeclared(&*failure),
            // Whatever a cancelled handler throws, the reason is the cancellation.
            FailCause::Foreign(_) if self.ctx.is_cancelled() => self.refuse(EngineCode::Cancelled),
            FailCause::Foreign(error) => self.map_foreign(&*error),
        }
    }

    /// A hint that the call site gives is held to the same rule as a declared one, which stays where the new one is too
    /// short to act on.
    fn hint_at_site(&self, bad: &mut FailedCall, hint: String) {
        if hint.split_whitespace().count() >= Recovery::HINT_WORDS {
            bad.problem.hint = hint.into();
        } else {
            tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), code = bad.problem.code.as_str(), "a hint of the call site is too short to act on, and the declared one is told");
        }
    }

    /// A structured failure: (1) a declared code passes, its details checked; (2) any other
    /// becomes INTERNAL, with only its code in the details.
    pub(super) fn map_failure(&self, entry: &RegisteredOperation, failure: Arc<dyn AnyFailure>) -> Box<FailedCall> {
        let Some(prepared) = entry.failure(failure.code()) else { return self.undeclared(&*failure) };
        let details = match failure.details() {
            Ok(details) => details,
            Err(error) => {
                tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = failure.code(), cause = %self.logged(&error), "the details of a failure cannot be written");
                return self.refuse(EngineCode::Internal).by(Fault::Output);
            }
        };
        let dynamic = failure.as_any().downcast_ref::<DynamicFailure>();
        if (self.checks(entry) || dynamic.is_some())
            && let Some(Breach { pointer, rule }) = prepared.details_breach(details.as_ref())
        {
            if let Some(otherwise) = dynamic.and_then(DynamicFailure::if_unfit) {
                tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), code = failure.code(), details_pointer = pointer, rule, "a failure of another service breaks its schema");
                return self.map_upstream(&otherwise);
            }
            tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = failure.code(), details_pointer = pointer, rule, "the details of a failure break their schema");
            return self.refuse(EngineCode::Internal).by(Fault::Output);
        }
        if let Some(cause) = std::error::Error::source(&*failure) {
            self.log_declared(prepared, cause);
        }
        let problem = self.declared(entry, prepared, &*failure, dynamic, details);
        let printed = Some(prepared.printed(&problem));
        let next_fits = prepared.next_fits(&self.ctx.registry);
        Box::new(FailedCall {
            problem,
            printed,
            failure: Some(failure),
            fault: None,
            cause: None,
            next_fits,
            nothing_done: false,
        })
    }

    /// A failure that is not among those that the operation declares: only its code leaves.
    fn undeclared(&self, failure: &dyn AnyFailure) -> Box<FailedCall> {
        let cause = std::error::Error::source(failure).map(|cause| tracing::field::display(self.logged(cause)));
        // A text that is not a code may hold anything, so it does not leave, and no exporter sends it.
        let code = Code::new(failure.code()).ok();
        let undeclared = code.as_ref().map_or("no code at all", Code::as_str);
        tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = EngineCode::Internal.as_str(), undeclared, cause, "a failure was not declared");
        let bad = match code {
            Some(code) => self.refuse_with(EngineCode::Internal, &json!({"undeclared_code": code})),
            None => self.refuse(EngineCode::Internal),
        };
        bad.by(Fault::Undeclared)
    }

    /// Says what a declared failure was caused by: for the caller it is as it was promised, and the operator has to
    /// find out why all the same.
    fn log_declared(&self, prepared: &Prepared, cause: &(dyn std::error::Error + 'static)) {
        let (code, kind) = (prepared.declaration.code().as_str(), prepared.declaration.kind());
        match kind.category() {
            Category::Client => {
                tracing::info!(request_id = %self.ctx.request_id, operation = self.operation(), code, %kind, cause = %self.logged(cause), "a declared failure has a cause");
            }
            Category::Server | Category::Upstream => {
                tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), code, %kind, cause = %self.logged(cause), "a declared failure has a cause");
            }
        }
    }

    fn declared(
        &self,
        entry: &RegisteredOperation,
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

    /// (3) Anything else is classified, and none of its text leaves.
    fn map_foreign(&self, error: &(dyn std::error::Error + Send + Sync + 'static)) -> Box<FailedCall> {
        if let Some(OutputUnwritten { error: EncodeError::TooLarge { max }, measured }) = error.downcast_ref() {
            return self.too_large(*max, measured.as_ref());
        }
        if error.is::<OutputUnwritten>() {
            tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = EngineCode::InvalidOutput.as_str(), cause = %self.logged(error), "the output of a handler cannot be written");
            return self.refuse(EngineCode::InvalidOutput);
        }
        if let Some(failure) = error.downcast_ref::<UpstreamFailure>() {
            return self.map_upstream(failure);
        }
        if let Some(error) = error.downcast_ref::<AskError>() {
            return self.map_ask(error);
        }
        // A composed call asks the same caller, who can do as much about it.
        if let Some(kind) = CallFailed::unasked_in(error) {
            return self.map_ask(&AskError::Unable(kind));
        }
        let (found, retry_after_ms) = match (Judged::kind_of(error), CallFailed::problem_in(error)) {
            (Some(kind), _) => (Classification::of_kind(kind, "call site"), None),
            (None, Some(problem)) => (Classification::of_called(problem), problem.retry_after_ms),
            (None, None) => (self.ctx.registry.classifier().classify(error), None),
        };
        let Classification { kind, code, row } = found;
        tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = code.as_str(), %kind, row = &*row, cause = %self.logged(error), "a fault was contained");
        let mut problem = self.engine(code, None, None);
        // Elsewhere some of these codes say that nothing has run; from a handler that had started, nobody knows how far
        // it had come.
        if problem.effect == Effect::None && self.started() != Started::No {
            problem.effect = Effect::Unknown;
            problem.retry =
                Retry::advise(code.kind().retryable(), problem.effect, self.shape_called(), self.started(), None);
            problem.retryable = problem.retry.says_yes();
            if !problem.retryable {
                problem.hint = Problem::FIND_OUT.into();
            }
        }
        if problem.retryable {
            problem.retry_after_ms = Some(retry_after_ms.unwrap_or(COME_AGAIN_MS));
        }
        FailedCall::new(problem).by(Fault::Contained).caused_by(kind)
    }

    /// Another service is the reason, and the handler knows how far the call had come there.
    fn map_upstream(&self, failure: &UpstreamFailure) -> Box<FailedCall> {
        let code = failure.code;
        if let Some(cause) = std::error::Error::source(failure) {
            tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), code = code.as_str(), cause = %self.logged(cause), "another service did not do its part");
        }
        let mut details = failure.details.clone();
        if code == EngineCode::ResultTooLarge {
            self.tell_narrowing(&mut details);
        }
        let details = (!details.is_empty()).then(|| Json::of(&details).ok()).flatten();
        let mut problem = self.engine(code, details, failure.retry_after_ms);
        // Whatever a service answers, a call that only reads has changed nothing there. What streams may have been a request that
        // changes something; the handler knows.
        let effect = if self.shape_called() == Shape::Query { Effect::None } else { failure.effect };
        problem.effect = effect;
        let shape = if effect == Effect::None { self.shape_called() } else { Shape::Mutation };
        let recovery = Prepared::engine(code).declaration.recovery();
        let retryable = Prepared::engine(code).declaration.retryable();
        problem.retry = Retry::advise(retryable, effect, shape, self.started(), recovery);
        problem.retryable = retryable && problem.retry.says_yes();
        if problem.retryable {
            problem.retry_after_ms.get_or_insert(COME_AGAIN_MS);
        } else {
            problem.retry_after_ms = None;
            if problem.retry == Retry::Unsafe {
                problem.hint = Problem::FIND_OUT.into();
            }
        }
        let mut bad = FailedCall::new(problem);
        bad.nothing_done = failure.effect == Effect::None;
        if code == EngineCode::ResultTooLarge {
            self.made_all_the_same(&mut bad);
        }
        if let Some(pointer) = &failure.pointer {
            bad.problem.recovery = Some(RecoveryStep::FixInput { pointer: pointer.as_str().into() });
        }
        match failure.cause_kind {
            Some(kind) => bad.by(Fault::Contained).caused_by(kind),
            None => bad,
        }
    }

    /// The name of the operation, for the log.
    pub(super) fn operation(&self) -> &str {
        self.ctx.entry.as_ref().map_or("", |entry| entry.declaration.name().as_str())
    }

    fn shape_called(&self) -> Shape {
        self.ctx.entry.as_ref().map_or(Shape::Query, |entry| entry.declaration.shape())
    }

    /// A cause as the log may have it.
    pub(super) fn logged<'a>(&'a self, error: &'a (dyn std::error::Error + 'static)) -> LoggedCause<'a> {
        LoggedCause::of(error).without(self.ctx.entry.as_ref().map(|entry| &entry.credentials))
    }

    /// An answer that is too large. The handler came to its own good end, so what a mutation does is done.
    fn too_large(&self, max: usize, measured: Option<&Measured>) -> Box<FailedCall> {
        let mut details = json!({"limit_bytes": max});
        if let Some(size) = measured.and_then(|measured| measured.size) {
            details["size_bytes"] = size.into();
        }
        // What nobody declared has no name here either, and what narrows the answer is what takes much of it.
        let declared = |name: &str| self.ctx.entry.as_ref()?.declaration.output().property(name).map(drop);
        let much = |(name, bytes): &&(String, usize)| bytes.saturating_mul(16) >= max && declared(name).is_some();
        let largest = measured.iter().flat_map(|measured| &measured.largest).filter(much);
        let largest: Vec<_> =
            largest.map(|(name, bytes)| json!({"pointer": member_pointer(name), "bytes": bytes})).collect();
        if !largest.is_empty() {
            details["largest"] = largest.into();
        }
        if let Value::Object(details) = &mut details {
            self.tell_narrowing(details);
        }
        let mut bad = self.refuse_with(EngineCode::ResultTooLarge, &details);
        self.made_all_the_same(&mut bad);
        bad
    }

    /// Names what makes the answer smaller, where the operation says that.
    fn tell_narrowing(&self, details: &mut Map<String, Value>) {
        let narrowing = self.ctx.entry.as_ref().map_or(&[][..], |entry| entry.declaration.narrowing());
        if !narrowing.is_empty() {
            details.insert("narrow_by".to_owned(), narrowing.into());
        }
    }

    /// A mutation whose answer alone is too large has done its work.
    fn made_all_the_same(&self, bad: &mut FailedCall) {
        if self.shape_called() == Shape::Mutation {
            bad.problem.effect = Effect::Unknown;
            bad.problem.retry = Retry::Never;
            bad.problem.recovery = None;
            bad.problem.hint = "The change was made; read what it changed instead of making it again.".into();
        }
    }

    /// A question that has no answer says so, since it is the caller who can do something.
    fn map_ask(&self, error: &AskError) -> Box<FailedCall> {
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

    /// Whether what the handler gives is checked against the schemas.
    #[inline]
    pub(super) fn checks(&self, entry: &RegisteredOperation) -> bool {
        !entry.typed || self.ctx.registry.0.settings.check_outputs
    }

    /// Checks what the handler gave against what it promised, where that is switched on.
    pub(super) fn check_output(
        &self,
        entry: &RegisteredOperation,
        output: OutputJson,
    ) -> Result<OutputJson, Box<FailedCall>> {
        match self.checks(entry).then(|| entry.output_breach(&output)).flatten() {
            None => Ok(output),
            Some(breach) => self.broken_output(entry, output, breach),
        }
    }

    /// What becomes of an output that breaks its schema.
    #[cold]
    pub(super) fn broken_output(
        &self,
        entry: &RegisteredOperation,
        output: OutputJson,
        breach: Breach,
    ) -> Result<OutputJson, Box<FailedCall>> {
        match entry.declaration.output_breach() {
            // What is no JSON, or is nested too deep to be read, is of no use to anybody.
            OutputBreach::Marked if breach.rule != "json" => {
                tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), output_pointer = breach.pointer, rule = breach.rule, "an output breaks its schema, and is marked");
                Ok(output.marked(breach))
            }
            OutputBreach::Marked | OutputBreach::Undeclared => {
                tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), output_pointer = breach.pointer, rule = breach.rule, "the output of another service breaks its schema");
                let details = json!({"reason": "output", "rule": breach.rule});
                Err(self.map_upstream(&UpstreamFailure::undeclared().with_details(details)))
            }
            OutputBreach::Invalid => Err(self.unfit_output(&breach)),
        }
    }

    /// Where an output breaks its schema is for whoever mends it, and so is in the log: by names that stay on the
    /// machine, as the way to a place may be made of values.
    #[cold]
    pub(super) fn unfit_output(&self, Breach { pointer, rule }: &Breach) -> Box<FailedCall> {
        tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = EngineCode::InvalidOutput.as_str(), output_pointer = pointer, rule, "an output breaks its schema");
        self.refuse(EngineCode::InvalidOutput)
    }
}

/// When a call for which there was no capacity may be made again.
pub(super) const COME_AGAIN_MS: u64 = 1000;
