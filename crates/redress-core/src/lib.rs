//! How an operation *runs*: the registry that checks declarations, and the one call path
//! that every face takes.
//!
//! **Invariant:** this crate knows no protocol, socket, file or terminal. It never panics
//! outward, always yields an outcome, and lets nothing out that was not declared.

mod argument;
mod ask;
mod audit;
mod broken;
mod budget;
mod called;
mod cause;
mod changes;
mod check;
mod classify;
mod compose;
mod consent;
mod ctx;
mod declare;
mod dynamic_failure;
mod encode;
mod events;
mod extension;
mod face;
mod fail;
mod failure;
mod fault;
mod fittings;
mod guard;
mod handler;
mod idempotency;
mod identity;
mod input;
mod limit;
mod listener;
mod measure;
mod next;
mod observer;
pub mod offload;
mod operation;
mod path;
mod peer;
mod plain;
mod prepared;
mod printable;
mod quota;
mod registry;
mod request;
mod rfc3339;
mod secret;
mod settings;
mod similar;
#[cfg(feature = "testing")]
pub mod testing;
mod upstream_failure;
mod verification;
mod warm_up;

pub use redress_contract as contract;

pub use argument::{Argument, ArgumentMissing, CallerKnown, CallerUnknown, State};
pub use ask::{
    Answer, AskError, Asker, Conversation, Field, Form, Question, QuestionKind, Root, Sample, Sampled, StateError,
};
pub use audit::{Audit, AuditedCall, Receipt};
pub use broken::StoreBroken;
pub use budget::{Account, BatchOrder, Budget, BudgetLimits, BudgetUsage};
pub use called::Called;
pub use cause::LoggedCause;
pub use changes::{Change, ChangeReader, Changes};
pub use check::{CheckFn, Checking, Checks, ChecksWhere};
pub use classify::{Classification, Classifier, ClassifierRow, ClassifierTable, PatternError};
pub use consent::{
    CONSENT_QUESTION, Consent, ConsentMemory, ConsentScope, ConsentScopeError, ConsentStore, HeldConsent,
    consent_grant, consent_list, consent_revoke,
};
pub use ctx::Ctx;
pub use declare::{
    Declared, Input, IntoOperation, Nothing, Once, OperationFn, Output, PublicField, Running, Streams, Tagged,
};
pub use dynamic_failure::DynamicFailure;
pub use events::{Events, IsEvents};
pub use extension::{Extension, LoadedExtension};
pub use face::Face;
pub use fail::{Fail, IsOutcome, Only, Outcome, Raised};
pub use failure::{AnyFailure, DeclaredBy, Failure, NoFailure};
pub use fault::Fault;
pub use fittings::Fittings;
pub use guard::{Blocked, ContentGuard, Guard, GuardBroken, GuardedCall, Veto, WhenBroken};
pub use idempotency::{Begin, Fingerprint, IdempotencyKey, IdempotencyMemory, IdempotencyStore, Recorded, Settled};
pub use identity::{IdentityError, IdentityProvider};
pub use limit::{Hold, InFlight, Limit, Limited, LimitedCall, Permit};
pub use listener::{Ear, Heard, Level, Listener, Mouth, Note, Progress, hearing};
pub use observer::{EndedCall, Observer};
pub use operation::Operation;
pub use path::{Asks, Completion, Event, Refusal, Subscription, Turn};
pub use peer::household;
pub use plain::plain;
pub use printable::{is_unprintable, printable};
pub use quota::{Exhausted, QuotaHold, QuotaRefused, QuotaShare, QuotaStore, QuotaWindow};
pub use registry::{BuildError, Builder, Registry, Shown};
pub use request::Request;
pub use rfc3339::rfc3339;
pub use secret::{Credentials, Secret};
pub use settings::Settings;
pub use upstream_failure::UpstreamFailure;
pub use warm_up::warm_up;
