//! What persons agreed to: where it is kept, the question by which they are asked, and the operations by which they give,
//! see and take back consents. Those operations are for persons alone: see [`contract::Access::is_for_persons`].
//!
//! Why so: docs/decisions/0058-consent-is-a-persons.md.

mod grant;
mod list;
mod question;
mod revoke;
mod shown;
mod store;
mod written;

use redress_contract::{self as contract, Caller, Effect, FailureDeclaration, Kind, Recovery};
use serde_json::json;

pub use grant::consent_grant;
pub use list::consent_list;
pub(crate) use question::{DECLINED, UNANSWERED, hint, question};
pub use revoke::consent_revoke;
pub use store::{Consent, ConsentMemory, ConsentScope, ConsentScopeError, ConsentStore, HeldConsent};
pub(crate) use written::WrittenJson;

use crate::{Ctx, DynamicFailure, StoreError};

/// The key of the question by which a face asks for a consent.
pub const CONSENT_QUESTION: &str = "redress.consent";

/// The scope that lets a person give, see and take back consents for other callers.
const ADMIN: &str = "consent:admin";

/// That nobody can tell whether the store has kept what it was told.
fn not_kept() -> FailureDeclaration {
    FailureDeclaration::new("CONSENT_NOT_KEPT", Kind::Unavailable)
        .with_when("The consents cannot be read or written right now.")
        .with_message("the consents cannot be read or written right now")
        .with_effect(Effect::Unknown)
        .with_recovery(Recovery::wait("Wait a moment, list the consents, and call again if need be."))
}

/// That a caller asks for what belongs to another.
fn not_yours() -> FailureDeclaration {
    FailureDeclaration::new("CONSENT_NOT_YOURS", Kind::Forbidden)
        .with_when("The caller asks for the consents of another and lacks the scope for it.")
        .with_message("these are the consents of another caller, which takes the scope `consent:admin`")
        .with_effect(Effect::None)
        .with_recovery(Recovery::get_access(
            ADMIN,
            "Leave the caller out, or ask an operator for a token with the scope `consent:admin`.",
        ))
}

/// The failure of a store that cannot tell; its cause is for the log alone.
fn broken(ctx: &Ctx, error: &StoreError) -> DynamicFailure {
    tracing::error!(request_id = %ctx.request_id(), cause = %crate::call::logged_cause::LoggedCause::of(&*error.0), "the consents cannot be read or written");
    DynamicFailure::new("CONSENT_NOT_KEPT", json!({}))
}

/// Whose consents are meant: the caller's own, or those of somebody else where it may see them.
fn whose<'a>(caller: &'a Caller, named: Option<&'a str>) -> Result<&'a str, DynamicFailure> {
    match named {
        None => Ok(caller.id()),
        Some(named) if named == caller.id() || caller.has(ADMIN) => Ok(named),
        Some(_) => Err(DynamicFailure::new("CONSENT_NOT_YOURS", json!({}))),
    }
}

/// The property of an input that says whose consents are meant.
fn caller_property() -> serde_json::Value {
    json!({
        "type": "string",
        "description": "Whose consents; the caller's own where it is left out. Those of others need the scope consent:admin.",
    })
}

/// A declaration of this namespace.
fn base(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    operation.with_access(contract::Access::caller().scope(contract::CONSENT_GRANT))
}
