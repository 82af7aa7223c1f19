//! A failure does not say any more how long to wait.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("retry_after_removed.md")]
pub(crate) static RETRY_AFTER_REMOVED: ChangeRule = ChangeRule {
    id: "retry-after-removed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("retry_after_removed.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if failure.before.retry_after().is_some() && failure.after.retry_after().is_none() {
        let says = "it does not say any more how long to wait";
        changes.push(Compatibility::Breaking, failure.address(), says, "keep the field that holds the time");
    }
}
