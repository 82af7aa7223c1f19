//! An operation is a document or a prompt that it was not before, under another address, or not any more.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("role_changed.md")]
pub(crate) static ROLE_CHANGED: ChangeRule = ChangeRule {
    id: "role-changed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("role_changed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.role() != operation.after.role() {
        let says = "what it is beside an operation (a prompt, the document at a URI) is not what it was";
        changes.push(Compatibility::Breaking, operation.name(), says, "keep the old one, and add another for the new");
    }
}
