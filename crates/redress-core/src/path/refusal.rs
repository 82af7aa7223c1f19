//! How the path itself refuses: an engine code with what this call knows about it.

use std::{any::Any, borrow::Cow, sync::Arc};

use redress_contract::{
    CONSENT_GRANT, EngineCode, Envelope, Json, Kind, Printed, Problem, RecoveryStep, Retry, Shape, Similar, Started,
};
use serde::Serialize;

use super::{Call, map::COME_AGAIN_MS};
use crate::{
    AnyFailure, Fault, IdentityError, Registry, Request, StoreError,
    registry::prepared::{Occurrence, Prepared},
};

const KEY_NOT_TAKEN: &str = "this operation takes no idempotency key";
const FOREIGN_PAGE: &str = "pages of this origin may not call";
const NOT_ALLOWED: &str = "this caller may not have what the call asks for";
const FOREIGN_HOST: &str = "the server is not known by this name";
const CANNOT_IDENTIFY: &str = "who calls cannot be told now";
const CANNOT_KEEP: &str = "the call cannot be recorded, so it was not made";
/// For whoever calls, and for whoever runs the service: where its state is, only its own log says.
const STATE_UNWRITABLE: &str = "Wait, then make the same call again. If it is refused again, tell the operator that the \
     state of the service cannot be written: the log says why, and `redress doctor` what to do.";
/// The key has another name on each face, and the answer is the same on all of them.
const NEEDLESS_KEY: &str = "Leave out the key: the header `Idempotency-Key`, the member `idempotency_key` of a WebSocket \
     message, `dev.redress/idempotency_key` in the `_meta` of MCP, or `--idempotency-key`.";

/// What an agent is told that tries what only a person may do.
const FOR_PERSONS: &str = "Leave this to the user: only a person gives consent, with a token of their own that has the scope `consent:grant` \
     (`redress token new CALLER --scope consent:grant`), or with `redress consent grant OPERATION --state DIR` in the state \
     folder of the service.";

/// What a face itself answers when a message does not become a call: it is no request, it
/// comes to no operation, or the service is going down.
#[derive(Clone, Debug)]
pub struct Refusal {
    code: EngineCode,
    details: Option<Json>,
    hint: Option<Arc<str>>,
    http: Option<u16>,
    retry_after_ms: Option<u64>,
    similar: Box<[Similar]>,
    recovery: Option<RecoveryStep>,
    case: RefusalCase,
    /// Why nobody could tell who calls, for the log.
    broken: Option<Box<IdentityError>>,
}

/// What the code's own message does not say. A word of its own, since a refusal is handed around by value and has to
/// stay small.
#[derive(Clone, Copy, Debug)]
enum RefusalCase {
    OfTheCode,
    NeedlessKey,
    ForeignPage,
    NotAllowed,
    ForeignHost,
    CannotIdentify,
    CannotKeep,
}

impl RefusalCase {
    fn message(self, code: EngineCode) -> &'static str {
        match self {
            RefusalCase::OfTheCode => code.message(),
            RefusalCase::NeedlessKey => KEY_NOT_TAKEN,
            RefusalCase::ForeignPage => FOREIGN_PAGE,
            RefusalCase::NotAllowed => NOT_ALLOWED,
            RefusalCase::ForeignHost => FOREIGN_HOST,
            RefusalCase::CannotIdentify => CANNOT_IDENTIFY,
            RefusalCase::CannotKeep => CANNOT_KEEP,
        }
    }
}

impl Refusal {
    /// Refuses with this code.
    pub fn new(code: EngineCode) -> Refusal {
        Refusal {
            code,
            details: None,
            hint: None,
            http: None,
            retry_after_ms: None,
            similar: Box::default(),
            recovery: None,
            case: RefusalCase::OfTheCode,
            broken: None,
        }
    }

    /// Refuses a token that tells nobody. Why it tells nobody is for the operator's log: the answer to a guess must
    /// not say how near it was.
    pub fn bad_token() -> Refusal {
        Refusal::new(EngineCode::AuthRequired).with_details(&serde_json::json!({"token": "refused"}))
    }

    /// Refuses a call of which it is not known who makes it: its token tells nobody, or nobody can tell now. The latter is
    /// no fault of the caller's, who may come again with the same token.
    pub fn unidentified(error: IdentityError) -> Refusal {
        match error {
            IdentityError::Invalid | IdentityError::Expired => Refusal::bad_token(),
            IdentityError::Unavailable { .. } => {
                let mut refusal = Refusal::new(EngineCode::UpstreamUnreachable)
                    .with_details(&serde_json::json!({"identity": "unavailable"}))
                    .with_retry_after_ms(COME_AGAIN_MS);
                refusal.case = RefusalCase::CannotIdentify;
                refusal.broken = Some(Box::new(error));
                refusal
            }
        }
    }

    /// Refuses a caller that lacks scopes, and says which to get.
    pub fn missing_scopes(missing: &[String], one_is_enough: bool) -> Refusal {
        // As OAuth writes them; of those of which one is enough, no more than one.
        let scope = if one_is_enough { missing.first().cloned().unwrap_or_default() } else { missing.join(" ") };
        let mut refusal = Refusal::new(EngineCode::Forbidden)
            .with_details(&serde_json::json!({"missing": missing, "one_is_enough": one_is_enough}));
        // An agent that is told to get this scope would go and get it.
        if missing.iter().any(|scope| scope == CONSENT_GRANT) {
            refusal.recovery = Some(RecoveryStep::AskUser);
            return refusal.with_hint(FOR_PERSONS);
        }
        refusal.recovery = Some(RecoveryStep::GetAccess { scope: scope.into() });
        refusal
    }

    /// Refuses an idempotency key on what takes none: a key that is let be would make its sender believe that a
    /// repetition is safe.
    pub fn needless_key() -> Refusal {
        let mut refusal = Refusal::new(EngineCode::InvalidRequest)
            .with_details(&serde_json::json!({"idempotency_key": "not taken"}))
            .with_hint(NEEDLESS_KEY);
        refusal.case = RefusalCase::NeedlessKey;
        refusal
    }

    /// Refuses a web page of an origin that may not call. No scope would help it.
    pub fn foreign_page() -> Refusal {
        let mut refusal = Refusal::new(EngineCode::Forbidden)
            .with_details(&serde_json::json!({"header": "Origin", "expected": "an origin that may call"}))
            .with_hint(
                "Call from a page of this very server, or have the operator name the page's origin in \
                 `http.cors_origins` (`Faces::cors_origins` in a program).",
            );
        refusal.recovery = Some(RecoveryStep::AskUser);
        refusal.case = RefusalCase::ForeignPage;
        refusal
    }

    /// Refuses what the operation's check does not let this caller have. No scope is named, since it is not known that
    /// one would help, and what was asked for is not told.
    pub(super) fn not_allowed() -> Refusal {
        let mut refusal = Refusal::new(EngineCode::Forbidden)
            .with_details(&serde_json::json!({"check": "refused"}))
            .with_hint("Ask for something that is yours, or ask the user who may let you have this.");
        refusal.recovery = Some(RecoveryStep::AskUser);
        refusal.case = RefusalCase::NotAllowed;
        refusal
    }

    /// Refuses a message that calls the server by a name that is not known to be its own, as a page does that DNS
    /// rebinding has made one of this very server.
    pub fn foreign_host() -> Refusal {
        let mut refusal = Refusal::new(EngineCode::Forbidden)
            .with_details(&serde_json::json!({"header": "Host", "expected": "a name of this server"}))
            .with_hint(
                "Call the server by `localhost` or a loopback address, or have the operator configure who may call \
                 (`access` in redress.toml), which lets it be called by any name.",
            );
        refusal.recovery = Some(RecoveryStep::AskUser);
        refusal.case = RefusalCase::ForeignHost;
        refusal
    }

    /// Refuses what could not be recorded: the audit, the idempotency keys or the consents cannot be written.
    pub fn cannot_keep() -> Refusal {
        let mut refusal = Refusal::new(EngineCode::Overloaded)
            .with_details(&serde_json::json!({"state": "unwritable"}))
            .with_hint(STATE_UNWRITABLE)
            .with_retry_after_ms(StoreError::RETRY_AFTER_MS);
        refusal.case = RefusalCase::CannotKeep;
        refusal
    }

    /// Says more, for a program. It must hold nothing of what the caller sent.
    #[must_use]
    pub fn with_details(mut self, details: &impl Serialize) -> Refusal {
        self.details = Json::of(details).ok();
        self
    }

    /// Says which place of the message is to be changed, as a JSON pointer, and what is expected there.
    #[must_use]
    pub fn expecting(mut self, pointer: &str, expected: &str) -> Refusal {
        self.recovery = Some(RecoveryStep::FixInput { pointer: pointer.into() });
        self.with_details(&serde_json::json!({"pointer": pointer, "expected": expected}))
    }

    /// Says what to do, where the code's own hint is about something else.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Arc<str>>) -> Refusal {
        self.hint = Some(hint.into());
        self
    }

    /// Sets a status that says it more exactly than the code's own.
    #[must_use]
    pub fn with_http(mut self, status: u16) -> Refusal {
        self.http = Some(status);
        self
    }

    /// Says how long to wait.
    #[must_use]
    pub fn with_retry_after_ms(mut self, ms: u64) -> Refusal {
        self.retry_after_ms = Some(ms);
        self
    }

    /// Says what exists and is near to what was asked for. It must hold nothing that the caller
    /// may not see.
    #[must_use]
    pub fn with_similar(mut self, near: impl IntoIterator<Item = String>) -> Refusal {
        self.similar = near.into_iter().map(|value| Similar { value }).collect();
        self
    }

    /// The refusal as the caller sees it.
    pub fn into_problem(self) -> Problem {
        let mut problem = Prepared::engine(self.code).problem(Occurrence {
            shape: Shape::Query,
            started: Started::No,
            message: Cow::Borrowed(self.case.message(self.code)),
            details: self.details,
            retry_after_ms: self.retry_after_ms,
            failure: None,
        });
        if let Some(hint) = self.hint {
            problem.hint = hint;
        }
        if let Some(http) = self.http {
            problem.http = http;
        }
        problem.similar = self.similar.into_vec();
        if self.recovery.is_some() {
            // What can be corrected is worth another call.
            if problem.retry == Retry::Never && matches!(self.recovery, Some(RecoveryStep::FixInput { .. })) {
                problem.retry = Retry::AfterFix;
            }
            problem.recovery = self.recovery;
        }
        problem
    }
}

impl Registry {
    /// Answers a message that does not become a call. Log and observers are told of it like
    /// of any call that was refused.
    ///
    /// ```
    /// use redress_core::{Refusal, Registry, Request};
    /// use redress_core::contract::EngineCode;
    ///
    /// let registry = Registry::builder().build().unwrap();
    /// let refusal = Refusal::new(EngineCode::ParseError);
    /// let envelope = registry.refuse(refusal, Request::default().with_request_id("a-1"));
    /// assert_eq!(envelope.code(), Some("PARSE_ERROR"));
    /// assert_eq!(envelope.meta().request_id.to_string(), "a-1");
    /// ```
    pub fn refuse(&self, refusal: Refusal, request: Request<'_>) -> Envelope {
        let (mut call, _) = self.begin("", request);
        let bad = call.refuse_by(refusal);
        call.end_contained(bad.into())
    }

    /// Answers a message whose outcome was lost by a panic of the face: INTERNAL, and whatever it asked for may have run.
    /// The log has what it panicked with, under the request id of the answer.
    ///
    /// ```
    /// use redress_core::{Registry, Request};
    ///
    /// let registry = Registry::builder().build().unwrap();
    /// let payload = std::panic::catch_unwind(|| panic!("nobody foresaw this")).unwrap_err();
    /// let envelope = registry.lost(&*payload, Request::default().with_request_id("a-1"));
    /// assert_eq!((envelope.code(), envelope.meta().request_id.to_string()), (Some("INTERNAL"), "a-1".to_owned()));
    /// ```
    pub fn lost(&self, payload: &(dyn Any + Send), request: Request<'_>) -> Envelope {
        self.begin("", request).0.lost(payload)
    }
}

/// A bad ending on its way to the envelope.
pub(crate) struct FailedCall {
    pub(crate) problem: Problem,
    /// What every occurrence of it has in common, already written.
    pub(crate) printed: Option<Arc<Printed>>,
    /// The failure itself, for a typed composed call.
    pub(crate) failure: Option<Arc<dyn AnyFailure>>,
    /// What came about that was not declared.
    pub(crate) fault: Option<Fault>,
    /// What sort of error that was caused by.
    pub(crate) cause: Option<Kind>,
    /// Whether the inputs of its next actions are known to fit.
    pub(crate) next_fits: bool,
    /// Whether it is known that another service, which it is about, has done nothing.
    pub(crate) nothing_done: bool,
}

/// Why a call goes no further.
pub(crate) enum CallStop {
    /// It has failed.
    Failed(Box<FailedCall>),
    /// It has asked its caller something, and goes on in its next round.
    Suspended,
}

impl From<Box<FailedCall>> for CallStop {
    fn from(bad: Box<FailedCall>) -> CallStop {
        CallStop::Failed(bad)
    }
}

impl FailedCall {
    pub(super) fn new(problem: Problem) -> Box<FailedCall> {
        Box::new(FailedCall {
            problem,
            printed: None,
            failure: None,
            fault: None,
            cause: None,
            next_fits: false,
            nothing_done: false,
        })
    }

    /// The same ending, told to the observers as this fault.
    pub(super) fn by(mut self: Box<FailedCall>, fault: Fault) -> Box<FailedCall> {
        self.fault = Some(fault);
        self
    }

    /// The same ending, told to the observers as caused by an error of this kind.
    pub(super) fn caused_by(mut self: Box<FailedCall>, cause: Kind) -> Box<FailedCall> {
        self.cause = Some(cause);
        self
    }
}

impl Call {
    /// Refuses with an engine code and nothing more.
    pub(crate) fn refuse(&self, code: EngineCode) -> Box<FailedCall> {
        self.refused(code, None)
    }

    /// Refuses with an engine code and details.
    pub(crate) fn refuse_with(&self, code: EngineCode, details: &impl Serialize) -> Box<FailedCall> {
        // Details of the engine are plain values, so writing them cannot fail; if it ever
        // does, the code alone is still the truth.
        self.refused(code, Json::of(details).ok())
    }

    /// Refuses as a face does. That nobody can tell who calls is a fault of what is around the call, and whoever runs
    /// the service has to learn why.
    pub(super) fn refuse_by(&self, mut refusal: Refusal) -> Box<FailedCall> {
        let broken = refusal.broken.take();
        let bad = FailedCall::new(refusal.into_problem());
        match broken.as_deref().and_then(std::error::Error::source) {
            None => bad,
            Some(cause) => {
                tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = bad.problem.code.as_str(), cause = %self.logged(cause), "who calls cannot be told, and the call is refused");
                bad.by(Fault::Contained).caused_by(Kind::Unavailable)
            }
        }
    }

    fn refused(&self, code: EngineCode, details: Option<Json>) -> Box<FailedCall> {
        let mut bad = FailedCall::new(self.engine(code, details, None));
        bad.fault = Fault::of(code);
        bad
    }

    /// The problem of an engine code, at this point of this call.
    pub(super) fn engine(&self, code: EngineCode, details: Option<Json>, retry_after_ms: Option<u64>) -> Problem {
        Prepared::engine(code).problem(Occurrence {
            shape: self.ctx.entry.as_ref().map_or(Shape::Query, |entry| entry.declaration.shape()),
            started: self.started(),
            message: Cow::Borrowed(code.message()),
            details,
            retry_after_ms,
            failure: None,
        })
    }
}
