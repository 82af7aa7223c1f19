//! An operation does not fail any more in a way that it declared.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("failure_removed.md")]
pub(crate) static FAILURE_REMOVED: ChangeRule = ChangeRule {
    id: "failure-removed",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("failure_removed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    for failure in
        operation.before.failures().iter().filter(|one| operation.after.failure(one.code().as_str()).is_none())
    {
        let address = format!("{}/{}", operation.name(), failure.code());
        changes.push(
            Compatibility::Compatible,
            address,
            "it does not fail in this way any more",
            "nothing has to be done",
        );
    }
}
