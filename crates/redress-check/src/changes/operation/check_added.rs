//! A check decides by what is asked for, where scopes alone decided before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("check_added.md")]
pub(crate) static CHECK_ADDED: ChangeRule = ChangeRule {
    id: "check-added",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("check_added.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.after.access().is_checked() && !operation.before.access().is_checked() {
        let says = "a check decides now by what is asked for";
        changes.push(
            Compatibility::Breaking,
            operation.name(),
            says,
            "accept it with a reason if the check refuses nobody that was let in",
        );
    }
}
