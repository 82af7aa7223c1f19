//! An operation is there that was not there before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, LockPair};

#[doc = include_str!("operation_added.md")]
pub(crate) static OPERATION_ADDED: ChangeRule = ChangeRule {
    id: "operation-added",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("operation_added.md"),
    check: ChangeCheck::Locks(check),
};

fn check(locks: &LockPair<'_>, changes: &mut ChangesOf) {
    for operation in &locks.added {
        let says = "there is a new operation";
        changes.push(
            Compatibility::Compatible,
            operation.name().as_str(),
            says,
            "raise the second number of the version",
        );
    }
}
