//! The summary or the description of an operation is another.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("operation_wording.md")]
pub(crate) static OPERATION_WORDING: ChangeRule = ChangeRule {
    id: "operation-wording",
    since: "0.1.0",
    worst: Compatibility::Wording,
    page: include_str!("operation_wording.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let (before, after) = (operation.before, operation.after);
    for (what, was, is) in
        [("summary", before.summary(), after.summary()), ("description", before.description(), after.description())]
    {
        if was != is {
            let says = format!("its {what} was {was:?} and is {is:?}");
            changes.push(Compatibility::Wording, operation.name(), says, "read the new words as a model would");
        }
    }
}
