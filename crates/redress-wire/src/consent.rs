//! How a description says that an operation needs a person's consent. OpenAPI and OpenRPC say it by CONSENT_REQUIRED among the
//! endings of the operation, and leave its description as it was declared, so that a contract can be read back from them.

use std::borrow::Cow;

use redress_contract::{EngineCode, FailureDeclaration, OperationDeclaration};

/// What stands behind the description of an operation that needs a consent.
const NEEDED: &str = "It needs a person's consent: without one it answers CONSENT_REQUIRED.";

/// What the operation does, and that a person has to agree first where that is so.
fn description(operation: &OperationDeclaration) -> Cow<'_, str> {
    match (operation.description(), operation.access().needs_consent()) {
        (told, false) => Cow::Borrowed(told),
        ("", true) => Cow::Borrowed(NEEDED),
        (told, true) => Cow::Owned(format!("{told}\n\n{NEEDED}")),
    }
}

/// The failures that whoever picks the operation should know of: the declared ones, and CONSENT_REQUIRED where a consent
/// is needed.
pub(crate) fn failures(operation: &OperationDeclaration) -> Vec<FailureDeclaration> {
    let consent = operation.access().needs_consent().then(|| EngineCode::ConsentRequired.declaration());
    operation.failures().iter().cloned().chain(consent).collect()
}

/// The declaration as a caller is shown it: CONSENT_REQUIRED among its failures where a consent is needed, and said in its
/// description. A contract as a whole is shown as it was declared, so that it can be read back and compared.
pub fn shown(operation: &OperationDeclaration) -> Cow<'_, OperationDeclaration> {
    if !operation.access().needs_consent() {
        return Cow::Borrowed(operation);
    }
    let told = operation.clone().with_description(description(operation).into_owned());
    Cow::Owned(told.without_failures().with_failures(failures(operation)))
}
