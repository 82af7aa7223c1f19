//! Waiting helps with a failure that time could not heal before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_retryable.md")]
pub(crate) static FAILURE_RETRYABLE: ChangeRule = ChangeRule {
    id: "failure-retryable",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("failure_retryable.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if !failure.before.retryable() && failure.after.retryable() {
        changes.push(Compatibility::Compatible, failure.address(), "time can heal it now", "nothing has to be done");
    }
}
