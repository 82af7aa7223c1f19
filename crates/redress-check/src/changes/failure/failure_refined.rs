//! An operation can fail in a new way that extends one which was declared before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("failure_refined.md")]
pub(crate) static FAILURE_REFINED: ChangeRule = ChangeRule {
    id: "failure-refined",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("failure_refined.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    for failure in
        operation.after.failures().iter().filter(|one| operation.before.failure(one.code().as_str()).is_none())
    {
        let ancestor = failure.extends().iter().find(|code| operation.before.failure(code.as_str()).is_some());
        if let Some(ancestor) = ancestor {
            let says = format!("it can fail in a new way, which is a case of {ancestor}");
            let address = format!("{}/{}", operation.name(), failure.code());
            changes.push(Compatibility::Compatible, address, says, "nothing has to be done");
        }
    }
}
