//! An answer may have more bytes than before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("max_output_raised.md")]
pub(crate) static MAX_OUTPUT_RAISED: ChangeRule = ChangeRule {
    id: "max-output-raised",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("max_output_raised.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let limits = [
        ("an answer", operation.before.max_output(), operation.after.max_output()),
        ("an answer to an agent", operation.before.max_output_for_agents(), operation.after.max_output_for_agents()),
    ];
    for (what, before, after) in limits {
        if let Some(before) = before
            && after.is_none_or(|after| after > before)
        {
            let says = format!("{what} may have more than {before} bytes");
            changes.push(Compatibility::Compatible, operation.name(), says, "nothing has to be done");
        }
    }
}
