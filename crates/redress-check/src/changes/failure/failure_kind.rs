//! A failure has another kind.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_kind.md")]
pub(crate) static FAILURE_KIND: ChangeRule = ChangeRule {
    id: "failure-kind",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("failure_kind.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    let (before, after) = (failure.before.kind(), failure.after.kind());
    if before != after {
        let says = format!("it was of kind {before}, and is of kind {after}");
        changes.push(Compatibility::Breaking, failure.address(), says, "declare another code for another kind");
    }
}
