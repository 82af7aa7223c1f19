//! Some callers that could call an operation cannot any more: a scope is needed that was not needed before, or a caller
//! at all.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("access_tightened.md")]
pub(crate) static ACCESS_TIGHTENED: ChangeRule = ChangeRule {
    id: "access-tightened",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("access_tightened.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let (before, after) = (operation.before.access(), operation.after.access());
    if !before.implies(after) {
        let says = format!("it was open to {}, and is open to {}", told(before), told(after));
        changes.push(
            Compatibility::Breaking,
            operation.name(),
            says,
            "give callers what they need first, or keep the old access",
        );
    }
}

/// Whom an operation is open to, in words.
pub(super) fn told(access: &redress_contract::Access) -> String {
    if access.is_open() {
        return "everyone".to_owned();
    }
    let mut told = String::from("callers");
    if !access.all_scopes().is_empty() {
        told.push_str(&format!(" with {}", access.all_scopes().join(" and ")));
    }
    if !access.any_scopes().is_empty() {
        told.push_str(&format!(" with one of {}", access.any_scopes().join(", ")));
    }
    told
}
