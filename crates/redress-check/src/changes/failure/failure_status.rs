//! A failure has another HTTP status.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_status.md")]
pub(crate) static FAILURE_STATUS: ChangeRule = ChangeRule {
    id: "failure-status",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("failure_status.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    let (before, after) = (failure.before.http(), failure.after.http());
    if before != after {
        let says = format!("its status was {before}, and is {after}");
        changes.push(Compatibility::Breaking, failure.address(), says, "keep the status, or declare another code");
    }
}
