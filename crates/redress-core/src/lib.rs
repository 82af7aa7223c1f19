//! How an operation *runs*: the registry that checks declarations, and the one call path
//! that every face takes.
//!
//! **Invariant:** this crate knows no protocol, socket, file or terminal. It never panics
//! outward, always yields an outcome, and lets nothing out that was not declared.

mod author;
mod call;
pub mod contained;
mod hex;
mod hooks;
pub mod offload;
mod path;
mod printable;
mod registry;
mod rfc3339;
mod search;
mod similar;
#[cfg(feature = "testing")]
pub mod testing;
mod upstream_failure;
mod warm_up;

pub use redress_contract as contract;

pub use author::access_check::{CheckFn, Checking, Checks, ChecksWhere};
pub use author::argument::{Argument, ArgumentMissing, CallerKnown, CallerUnknown, State};
pub use author::declare::{
    Declared, Input, IntoOperation, Nothing, Once, OperationFn, Output, PublicField, Running, Streams, Tagged,
};
pub use author::dynamic_failure::DynamicFailure;
pub use author::events::{Events, IsEvents};
pub use author::fail::{Fail, IsOutcome, Only, Outcome, Raised};
pub use author::failure::{AnyFailure, DeclaredBy, Failure, NoFailure};
pub use author::operation::Operation;
pub use author::plain::plain;
pub use author::secret::{Credentials, Secret};
pub use call::ask::{
    Answer, AskError, Asker, Conversation, Field, Form, Question, QuestionKind, Root, Sample, Sampled, StateError,
};
pub use call::budget::{Account, BatchOrder, Budget, BudgetLimits, BudgetUsage};
pub use call::call_failed::CallFailed;
pub use call::changes::{Change, ChangeReader, Changes};
pub use call::client_prefix::client_prefix;
pub use call::ctx::Ctx;
pub use call::face::Face;
pub use call::fault::Fault;
pub use call::logged_cause::LoggedCause;
pub use call::progress::{
    Level, Note, Notification, Progress, ProgressListener, ProgressReceiver, ProgressSender, progress_channel,
};
pub use call::request::Request;
pub use hex::hex;
pub use hooks::audit::{Audit, AuditedCall, Receipt};
pub use hooks::classify::{Classification, Classifier, ClassifierRow, ClassifierTable, PatternError};
pub use hooks::consent::{
    CONSENT_QUESTION, Consent, ConsentMemory, ConsentScope, ConsentScopeError, ConsentStore, HeldConsent,
    consent_grant, consent_list, consent_revoke,
};
pub use hooks::extension::{Extension, LoadedExtension};
pub use hooks::guard::{Blocked, ContentGuard, Guard, GuardBroken, GuardedCall, Veto, WhenBroken};
pub use hooks::idempotency::{
    Begin, Fingerprint, IdempotencyKey, IdempotencyMemory, IdempotencyStore, Recorded, Settled,
};
pub use hooks::identity::{IdentityError, IdentityProvider};
pub use hooks::layers::Layers;
pub use hooks::limit::{Hold, InFlight, Limit, Limited, LimitedCall, Permit};
pub use hooks::observer::{EndedCall, Observer};
pub use hooks::quota::{Exhausted, QuotaHold, QuotaRefused, QuotaShare, QuotaStore, QuotaWindow};
pub use hooks::store_error::StoreError;
pub use path::{Asks, Completion, Event, Refusal, Subscription, Turn};
pub use printable::{is_unprintable, printable};
pub use registry::rules::RULES;
pub use registry::settings::Settings;
pub use registry::{BuildError, Builder, Registry, Shown};
pub use rfc3339::rfc3339;
pub use search::OperationIndex;
pub use similar::nearest_names;
pub use upstream_failure::UpstreamFailure;
pub use warm_up::warm_up;
