//! An operation does not need the consent of a person any more.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("consent_removed.md")]
pub(crate) static CONSENT_REMOVED: ChangeRule = ChangeRule {
    id: "consent-removed",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("consent_removed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.access().needs_consent() && !operation.after.access().needs_consent() {
        let says = "no person has to agree to it any more";
        changes.push(Compatibility::Compatible, operation.name(), says, "see that nobody has to be asked");
    }
}
