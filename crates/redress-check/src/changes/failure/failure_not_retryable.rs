//! Waiting does not help any more with a failure that time could heal.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_not_retryable.md")]
pub(crate) static FAILURE_NOT_RETRYABLE: ChangeRule = ChangeRule {
    id: "failure-not-retryable",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("failure_not_retryable.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if failure.before.retryable() && !failure.after.retryable() {
        let says = "time could heal it, and cannot any more";
        changes.push(
            Compatibility::Breaking,
            failure.address(),
            says,
            "declare another code for what time cannot heal",
        );
    }
}
