//! How a description says that an operation needs a person's consent. OpenAPI and OpenRPC say it by CONSENT_REQUIRED among the
//! endings of the operation, and leave its description as it was declared, so that a contract can be read back from them.

use std::borrow::Cow;

use redress_contract::{EngineCode, Failure, Operation};
use serde_json::Value;

/// What stands behind the description of an operation that needs a consent.
const NEEDED: &str = "It needs a person's consent: without one it answers CONSENT_REQUIRED.";

/// What the operation does, and that a person has to agree first where that is so.
fn description(operation: &Operation) -> Cow<'_, str> {
    match (operation.description(), operation.access().needs_consent()) {
        (told, false) => Cow::Borrowed(told),
        ("", true) => Cow::Borrowed(NEEDED),
        (told, true) => Cow::Owned(format!("{told}\n\n{NEEDED}")),
    }
}

/// The failures that whoever picks the operation should know of: the declared ones, and CONSENT_REQUIRED where a consent
/// is needed.
pub(crate) fn failures(operation: &Operation) -> Vec<Failure> {
    let consent = operation.access().needs_consent().then(|| EngineCode::ConsentRequired.declaration());
    operation.failures().iter().cloned().chain(consent).collect()
}

/// The declaration as a caller is shown it, CONSENT_REQUIRED among its failures where a consent is needed; nothing where
/// it cannot be written.
pub fn shown(operation: &Operation) -> Option<Value> {
    let mut shown = serde_json::to_value(operation).ok()?;
    if operation.access().needs_consent()
        && let Value::Object(members) = &mut shown
    {
        members.insert("description".into(), description(operation).into());
        members.insert("failures".into(), serde_json::to_value(failures(operation)).ok()?);
    }
    Some(shown)
}
