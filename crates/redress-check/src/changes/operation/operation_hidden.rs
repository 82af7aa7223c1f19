//! An operation that could be called from outside is internal.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("operation_hidden.md")]
pub(crate) static OPERATION_HIDDEN: ChangeRule = ChangeRule {
    id: "operation-hidden",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("operation_hidden.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.is_external() && !operation.after.is_external() {
        let says = "it cannot be called from outside any more";
        changes.push(
            Compatibility::Breaking,
            operation.name(),
            says,
            "keep it external, deprecated, for one major version",
        );
    }
}
