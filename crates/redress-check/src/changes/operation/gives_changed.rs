//! The output is shown in another way: as JSON, as blocks or as messages.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("gives_changed.md")]
pub(crate) static GIVES_CHANGED: ChangeRule = ChangeRule {
    id: "gives-changed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("gives_changed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.gives() != operation.after.gives() {
        let says = "its output is shown in another way";
        changes.push(Compatibility::Breaking, operation.name(), says, "give what is shown in another way another name");
    }
}
