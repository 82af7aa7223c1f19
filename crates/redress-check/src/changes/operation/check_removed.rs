//! Scopes alone decide who may call, where a check decided as well.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("check_removed.md")]
pub(crate) static CHECK_REMOVED: ChangeRule = ChangeRule {
    id: "check-removed",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("check_removed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.access().is_checked() && !operation.after.access().is_checked() {
        let says = "no check decides any more by what is asked for";
        changes.push(Compatibility::Compatible, operation.name(), says, "see that scopes alone are enough");
    }
}
