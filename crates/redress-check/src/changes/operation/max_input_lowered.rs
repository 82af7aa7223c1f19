//! An operation takes fewer bytes of input than before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("max_input_lowered.md")]
pub(crate) static MAX_INPUT_LOWERED: ChangeRule = ChangeRule {
    id: "max-input-lowered",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("max_input_lowered.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if let Some(after) = operation.after.max_input()
        && operation.before.max_input().is_none_or(|before| after < before)
    {
        let was =
            operation.before.max_input().map_or_else(|| "what the service takes".to_owned(), |bytes| bytes.to_string());
        let says = format!("it takes {after} bytes of input, and took {was}");
        changes.push(Compatibility::Breaking, operation.name(), says, "look at how large inputs are first");
    }
}
