//! An operation takes an idempotency key.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("key_added.md")]
pub(crate) static KEY_ADDED: ChangeRule = ChangeRule {
    id: "key-added",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("key_added.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if !operation.before.takes_idempotency_key() && operation.after.takes_idempotency_key() {
        let says = "it takes an idempotency key now";
        changes.push(Compatibility::Compatible, operation.name(), says, "nothing has to be done");
    }
}
