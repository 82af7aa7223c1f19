//! An operation does not say any more how to find out whether it took place.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("verify_removed.md")]
pub(crate) static VERIFY_REMOVED: ChangeRule = ChangeRule {
    id: "verify-removed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("verify_removed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.verification().is_some() && operation.after.verification().is_none() {
        let says = "it does not say any more how to find out whether it took place";
        changes.push(Compatibility::Breaking, operation.name(), says, "keep the verification");
    }
}
