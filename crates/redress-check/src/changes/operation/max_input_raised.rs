//! An operation takes more bytes of input than before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("max_input_raised.md")]
pub(crate) static MAX_INPUT_RAISED: ChangeRule = ChangeRule {
    id: "max-input-raised",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("max_input_raised.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if let Some(before) = operation.before.max_input()
        && operation.after.max_input().is_none_or(|after| after > before)
    {
        let says = format!("it takes more than {before} bytes of input");
        changes.push(Compatibility::Compatible, operation.name(), says, "nothing has to be done");
    }
}
