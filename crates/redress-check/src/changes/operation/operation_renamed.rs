//! An operation has another name, and the old one is an alias of it.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("operation_renamed.md")]
pub(crate) static OPERATION_RENAMED: ChangeRule = ChangeRule {
    id: "operation-renamed",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("operation_renamed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.name() != operation.after.name() {
        let says = format!("it is called `{}` now, and still found by its old name", operation.after.name());
        changes.push(Compatibility::Compatible, operation.name(), says, "keep the alias for one major version");
    }
}
