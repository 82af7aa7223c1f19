//! An operation says how to find out whether it took place.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("verify_added.md")]
pub(crate) static VERIFY_ADDED: ChangeRule = ChangeRule {
    id: "verify-added",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("verify_added.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.verification().is_none() && operation.after.verification().is_some() {
        let says = "it says how to find out whether it took place";
        changes.push(Compatibility::Compatible, operation.name(), says, "nothing has to be done");
    }
}
