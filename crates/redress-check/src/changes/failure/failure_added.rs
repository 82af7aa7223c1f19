//! An operation can fail in a way that it did not declare, and none of the more general codes that it extends was
//! declared either.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("failure_added.md")]
pub(crate) static FAILURE_ADDED: ChangeRule = ChangeRule {
    id: "failure-added",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("failure_added.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    for failure in
        operation.after.failures().iter().filter(|one| operation.before.failure(one.code().as_str()).is_none())
    {
        let ancestor = failure.extends().iter().find(|code| operation.before.failure(code.as_str()).is_some());
        if ancestor.is_none() {
            let says = format!("it can fail in a new way, of kind {}", failure.kind());
            let help = "let it extend a code that was declared before, or raise the first number of the version";
            changes.push(Compatibility::Breaking, format!("{}/{}", operation.name(), failure.code()), says, help);
        }
    }
}
