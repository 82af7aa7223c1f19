//! An operation is marked as on its way out.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("operation_deprecated.md")]
pub(crate) static OPERATION_DEPRECATED: ChangeRule = ChangeRule {
    id: "operation-deprecated",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("operation_deprecated.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if let (None, Some(deprecated)) = (operation.before.deprecated(), operation.after.deprecated()) {
        let says = format!("it is deprecated since {}", deprecated.since);
        changes.push(
            Compatibility::Compatible,
            operation.name(),
            says,
            "say what replaces it, and keep it for one major version",
        );
    }
}
