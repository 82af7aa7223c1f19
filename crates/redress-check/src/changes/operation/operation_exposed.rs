//! An operation that was internal can be called from outside.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("operation_exposed.md")]
pub(crate) static OPERATION_EXPOSED: ChangeRule = ChangeRule {
    id: "operation-exposed",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("operation_exposed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if !operation.before.is_external() && operation.after.is_external() {
        let says = "it can be called from outside now";
        changes.push(
            Compatibility::Compatible,
            operation.name(),
            says,
            "see that access and limits are meant for strangers",
        );
    }
}
