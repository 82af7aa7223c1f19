//! A failure is marked as on its way out.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_deprecated.md")]
pub(crate) static FAILURE_DEPRECATED: ChangeRule = ChangeRule {
    id: "failure-deprecated",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("failure_deprecated.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if let (None, Some(deprecated)) = (failure.before.deprecated(), failure.after.deprecated()) {
        let says = format!("it is deprecated since {}", deprecated.since);
        changes.push(Compatibility::Compatible, failure.address(), says, "say what replaces it");
    }
}
