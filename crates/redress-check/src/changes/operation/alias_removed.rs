//! A name by which an operation was also found is gone.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("alias_removed.md")]
pub(crate) static ALIAS_REMOVED: ChangeRule = ChangeRule {
    id: "alias-removed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("alias_removed.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let now: Vec<&str> =
        operation.after.aliases().iter().map(|alias| alias.as_str()).chain([operation.after.name().as_str()]).collect();
    for alias in operation.before.aliases().iter().filter(|alias| !now.contains(&alias.as_str())) {
        let says = format!("it is not found as `{alias}` any more");
        changes.push(
            Compatibility::Breaking,
            operation.name(),
            says,
            "put the alias back until the next major version",
        );
    }
}
