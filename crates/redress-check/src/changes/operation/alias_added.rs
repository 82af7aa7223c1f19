//! An operation is also found by another name.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("alias_added.md")]
pub(crate) static ALIAS_ADDED: ChangeRule = ChangeRule {
    id: "alias-added",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("alias_added.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let was: Vec<&str> = operation
        .before
        .aliases()
        .iter()
        .map(|alias| alias.as_str())
        .chain([operation.before.name().as_str()])
        .collect();
    for alias in operation.after.aliases().iter().filter(|alias| !was.contains(&alias.as_str())) {
        let says = format!("it is also found as `{alias}`");
        changes.push(Compatibility::Compatible, operation.name(), says, "nothing has to be done");
    }
}
