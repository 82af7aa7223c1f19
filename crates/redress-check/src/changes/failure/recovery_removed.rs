//! A failure does not say any more what to do about it.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("recovery_removed.md")]
pub(crate) static RECOVERY_REMOVED: ChangeRule = ChangeRule {
    id: "recovery-removed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("recovery_removed.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if failure.before.recovery().is_some() && failure.after.recovery().is_none() {
        let says = "it does not say any more what to do";
        changes.push(
            Compatibility::Breaking,
            failure.address(),
            says,
            "keep a recovery; `stop` says that nothing helps",
        );
    }
}
