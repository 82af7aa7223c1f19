//! An operation does not take an idempotency key any more.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("key_removed.md")]
pub(crate) static KEY_REMOVED: ChangeRule = ChangeRule {
    id: "key-removed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("key_removed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.takes_idempotency_key() && !operation.after.takes_idempotency_key() {
        let says = "it takes no idempotency key any more";
        changes.push(Compatibility::Breaking, operation.name(), says, "keep taking keys; callers repeat calls by them");
    }
}
