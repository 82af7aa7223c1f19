//! A failure says how long to wait.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("retry_after_added.md")]
pub(crate) static RETRY_AFTER_ADDED: ChangeRule = ChangeRule {
    id: "retry-after-added",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("retry_after_added.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if failure.before.retry_after().is_none() && failure.after.retry_after().is_some() {
        changes.push(
            Compatibility::Compatible,
            failure.address(),
            "it says how long to wait",
            "nothing has to be done",
        );
    }
}
