//! Callers may call an operation that could not call it before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("access_loosened.md")]
pub(crate) static ACCESS_LOOSENED: ChangeRule = ChangeRule {
    id: "access-loosened",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("access_loosened.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let (before, after) = (operation.before.access(), operation.after.access());
    if before != after && before.implies(after) && !after.implies(before) {
        let (was, is) = (super::access_tightened::told(before), super::access_tightened::told(after));
        let says = format!("it was open to {was}, and is open to {is}");
        changes.push(Compatibility::Compatible, operation.name(), says, "see that more callers are meant to have it");
    }
}
