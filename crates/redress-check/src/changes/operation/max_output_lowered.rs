//! An answer may have fewer bytes than before, for everybody or for agents.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("max_output_lowered.md")]
pub(crate) static MAX_OUTPUT_LOWERED: ChangeRule = ChangeRule {
    id: "max-output-lowered",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("max_output_lowered.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let limits = [
        ("an answer", operation.before.max_output(), operation.after.max_output()),
        ("an answer to an agent", operation.before.max_output_for_agents(), operation.after.max_output_for_agents()),
    ];
    for (what, before, after) in limits {
        if let Some(after) = after
            && before.is_none_or(|before| after < before)
        {
            let was = before.map_or_else(|| "as many as the service gives".to_owned(), |bytes| bytes.to_string());
            let says = format!("{what} may have {after} bytes, and could have {was}");
            changes.push(
                Compatibility::Breaking,
                operation.name(),
                says,
                "say which members of the input ask for less",
            );
        }
    }
}
