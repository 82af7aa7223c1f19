//! An operation has begun to run code that it is given, or has stopped, or the code is another member or in another
//! language.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("content_changed.md")]
pub(crate) static CONTENT_CHANGED: ChangeRule = ChangeRule {
    id: "content-changed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("content_changed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if operation.before.content() != operation.after.content() {
        let says = "whether, from where or in which language it runs code is not what it was";
        changes.push(Compatibility::Breaking, operation.name(), says, "give what runs other code another name");
    }
}
