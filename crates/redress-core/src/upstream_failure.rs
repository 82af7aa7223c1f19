//! What becomes of a call whose operation another service carries out, where that service is the reason.

use std::{error::Error, fmt};

use redress_contract::{Effect, EngineCode, Kind};
use serde_json::{Map, Value, json};

/// A bad ending that another service is the reason of, told with the engine's own code for it.
///
/// A handler that calls other services knows what the engine cannot: whether a request was sent, when a broken service is
/// tried again, what was answered in place of what was promised. No operation declares these codes, and only these can be
/// raised by a handler.
///
/// ```
/// use redress_core::{Operation, Registry, Request, UpstreamFailure};
/// use redress_core::contract::{self, Caller, Effect};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let declaration = contract::OperationDeclaration::mutation("orders.pay").with_summary("Pay an order.");
/// let pay = Operation::dynamic(declaration).with_handler(|_, _| async {
///     // The connection was never made, so that nothing can have happened.
///     let away = UpstreamFailure::unreachable(Effect::None).with_details(json!({"next_probe_ms": 800}));
///     Err(away.with_retry_after_ms(800))?
/// });
/// let registry = Registry::builder().add(pay).build().unwrap();
/// let envelope = registry.call("orders.pay", Request::new(&b"{}"[..]).with_caller(Caller::new("ada"))).await;
/// let problem = envelope.problem().unwrap();
/// assert_eq!(problem.code.as_str(), "UPSTREAM_UNREACHABLE");
/// assert!(problem.retryable && problem.effect == Effect::None);
/// # });
/// ```
pub struct UpstreamFailure {
    pub(crate) code: EngineCode,
    pub(crate) effect: Effect,
    pub(crate) details: Map<String, Value>,
    pub(crate) retry_after_ms: Option<u64>,
    /// The member of the input that has to be another.
    pub(crate) pointer: Option<String>,
    /// What sort of error an operator reads of in the metrics; nothing where nobody has to look.
    pub(crate) cause_kind: Option<Kind>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl UpstreamFailure {
    /// UPSTREAM_UNREACHABLE: the service cannot be reached, or broke off. `effect` says whether it may have done something.
    pub fn unreachable(effect: Effect) -> UpstreamFailure {
        UpstreamFailure::new(EngineCode::UpstreamUnreachable, effect, Some(Kind::Unavailable))
    }

    /// UPSTREAM_UNDECLARED: the service answered what its contract does not say.
    pub fn undeclared() -> UpstreamFailure {
        UpstreamFailure::new(EngineCode::UpstreamUndeclared, Effect::Unknown, Some(Kind::Serialization))
    }

    /// CREDENTIALS_REQUIRED: the service asks for credentials that nobody has given, or refuses those that were.
    pub fn credentials_required() -> UpstreamFailure {
        UpstreamFailure::new(EngineCode::CredentialsRequired, Effect::None, Some(Kind::Unauthorized))
    }

    /// RESULT_TOO_LARGE: the service answered with more than is read of one answer.
    pub fn result_too_large() -> UpstreamFailure {
        UpstreamFailure::new(EngineCode::ResultTooLarge, Effect::None, None)
    }

    /// CONTRACT_CHANGED: what the service says of the operation is not what was pinned.
    pub fn contract_changed() -> UpstreamFailure {
        UpstreamFailure::new(EngineCode::ContractChanged, Effect::None, Some(Kind::Configuration))
    }

    /// OVERLOADED: there is no room for another call of that service. Nothing was sent.
    pub fn overloaded() -> UpstreamFailure {
        UpstreamFailure::new(EngineCode::Overloaded, Effect::None, None)
    }

    /// INVALID_INPUT: the schema admits the input's member `field`, and it cannot be sent to the service all the same.
    /// Nothing was sent.
    pub fn unsendable(field: &str, expected: &str) -> UpstreamFailure {
        let pointer = if field.is_empty() { String::new() } else { member_pointer(field) };
        let issue = json!({"pointer": pointer, "rule": "sendable", "expected": expected});
        let failure = UpstreamFailure::new(EngineCode::InvalidInput, Effect::None, None);
        let mut failure = failure.with_details(json!({"issues": [issue]}));
        failure.pointer = Some(pointer);
        failure
    }

    fn new(code: EngineCode, effect: Effect, cause_kind: Option<Kind>) -> UpstreamFailure {
        let (details, retry_after_ms, pointer, cause) = (Map::new(), None, None, None);
        UpstreamFailure { code, effect, details, retry_after_ms, pointer, cause_kind, cause }
    }

    /// Adds members to the details, which the caller sees. What is no object is none.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> UpstreamFailure {
        if let Value::Object(members) = details {
            self.details.extend(members);
        }
        self
    }

    /// Says whether the service may have done something.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> UpstreamFailure {
        self.effect = effect;
        self
    }

    /// Says how long to wait.
    #[must_use]
    pub fn with_retry_after_ms(mut self, ms: u64) -> UpstreamFailure {
        self.retry_after_ms = Some(ms);
        self
    }

    /// Adds what caused it, for the log alone.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> UpstreamFailure {
        self.cause = Some(cause.into());
        self
    }

    /// The code that the caller is told.
    pub fn code(&self) -> EngineCode {
        self.code
    }
}

/// Where the member of this name is, as a JSON pointer.
pub(crate) fn member_pointer(member: &str) -> String {
    format!("/{}", member.replace('~', "~0").replace('/', "~1"))
}

impl fmt::Display for UpstreamFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.message())
    }
}

impl fmt::Debug for UpstreamFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamFailure")
            .field("code", &self.code)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}

impl Error for UpstreamFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}
