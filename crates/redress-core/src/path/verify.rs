//! Verify: what is told of a mutation that was cut off, and that says how to find out whether it took place.

use redress_contract::{Effect, EngineCode, Retry, Started};

use super::{Call, CallInput, FailedCall};

/// The most bytes of an input that are read and told once more. What is larger is not worth its place in an answer.
const MAX_INPUT: usize = 16 * 1024;

/// What a caller who comes again with the key would only be told again.
const NEW_KEY: &str = "A call that is made again needs a new idempotency key.";

impl Call {
    /// The same ending with the query that shows whether the call took place, where nobody knows that and the
    /// operation says how to find out.
    pub(super) fn to_verify(&self, call_input: &CallInput<'_>, mut bad: Box<FailedCall>) -> Box<FailedCall> {
        let Some(entry) = &self.ctx.entry else { return bad };
        let Some(verifying) = &entry.verifying else { return bad };
        // A declared failure has a recovery of its own.
        if bad.failure.is_some() || bad.problem.effect == Effect::None {
            return bad;
        }
        let Some(code) = EngineCode::parse(bad.problem.code.as_str()).filter(|code| leaves_open(*code)) else {
            return bad;
        };
        let started = match self.started() {
            // Nothing of this call has run; the one that came before it with this key had started.
            Started::No => Started::WithKey,
            started @ (Started::Yes | Started::WithKey) => started,
        };
        let recovery = Some(&verifying.recovery);
        let retry =
            Retry::advise(code.kind().retryable(), bad.problem.effect, entry.declaration.shape(), started, recovery);
        if retry != Retry::AfterVerify || call_input.input.len() > MAX_INPUT {
            return bad;
        }
        // Whoever cannot make the query is told what is told where there is none.
        if verifying.step.target().is_none_or(|target| self.callable(target).is_none()) {
            return bad;
        }
        let Some(query) = verifying.query(&call_input.input) else { return bad };
        let problem = &mut bad.problem;
        problem.retry = retry;
        problem.retryable = false;
        problem.retry_after_ms = None;
        problem.recovery = Some(verifying.step.clone());
        problem.hint = match started {
            Started::WithKey => format!("{} {NEW_KEY}", verifying.hint).into(),
            Started::Yes | Started::No => std::sync::Arc::clone(&verifying.hint),
        };
        problem.next_actions = vec![query];
        bad
    }
}

/// Whether a mutation that ends with this code, once its handler has started, may or may not have taken place. The
/// other codes are said before it starts, or say what became of it.
fn leaves_open(code: EngineCode) -> bool {
    match code {
        EngineCode::RateLimited
        | EngineCode::Overloaded
        | EngineCode::OutcomeUnknown
        | EngineCode::Timeout
        | EngineCode::Cancelled
        | EngineCode::Internal
        | EngineCode::InvalidOutput
        | EngineCode::UpstreamUnreachable
        | EngineCode::UpstreamUndeclared => true,
        EngineCode::NotFound
        | EngineCode::AuthRequired
        | EngineCode::Forbidden
        | EngineCode::ConsentRequired
        | EngineCode::InvalidInput
        | EngineCode::InvalidOperationType
        | EngineCode::EvalBlockedKeyword
        | EngineCode::EvalBlockedConstruct
        | EngineCode::EvalUnparsable
        | EngineCode::PayloadTooLarge
        | EngineCode::QuotaExhausted
        | EngineCode::IdempotencyConflict
        | EngineCode::ResultTooLarge
        | EngineCode::HandlerNotBound
        | EngineCode::StreamOverflow
        | EngineCode::ParseError
        | EngineCode::InvalidRequest
        | EngineCode::CredentialsRequired
        | EngineCode::ContractChanged => false,
    }
}
