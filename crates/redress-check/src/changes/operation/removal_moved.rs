//! A deprecated operation goes earlier than it was said to.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("removal_moved.md")]
pub(crate) static REMOVAL_MOVED: ChangeRule = ChangeRule {
    id: "removal-moved",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("removal_moved.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    let told = |side: &redress_contract::OperationDeclaration| side.deprecated().and_then(|one| one.remove_in.clone());
    if let (Some(before), Some(after)) = (told(operation.before), told(operation.after))
        && numbers(&after) < numbers(&before)
    {
        let says = format!("it was to go with {before}, and goes with {after}");
        changes.push(Compatibility::Breaking, operation.name(), says, "keep to the version that was told");
    }
}

/// The numbers of a version, for comparison.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or_default()).collect()
}
