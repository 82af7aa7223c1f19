//! An operation needs the consent of a person that it did not need before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("consent_added.md")]
pub(crate) static CONSENT_ADDED: ChangeRule = ChangeRule {
    id: "consent-added",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("consent_added.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.after.access().needs_consent() && !operation.before.access().needs_consent() {
        let says = "a person has to agree to it now";
        changes.push(
            Compatibility::Breaking,
            operation.name(),
            says,
            "announce it; programs without a person cannot call it any more",
        );
    }
}
