//! An operation is gone, and no other has its name as an alias.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, LockPair};

#[doc = include_str!("operation_removed.md")]
pub(crate) static OPERATION_REMOVED: ChangeRule = ChangeRule {
    id: "operation-removed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("operation_removed.md"),
    check: ChangeCheck::Locks(check),
};

fn check(locks: &LockPair<'_>, changes: &mut ChangesOf) {
    for operation in &locks.removed {
        let says = match operation.deprecated() {
            Some(deprecated) => format!("it is gone; it was deprecated since {}", deprecated.since),
            None => "it is gone, and nothing had said that it would be".to_owned(),
        };
        let help = "keep it as deprecated for one major version, or give its name as an alias to what replaces it";
        changes.push(Compatibility::Breaking, operation.name().as_str(), says, help);
    }
}
