//! A failure says what to do about it, and did not before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("recovery_added.md")]
pub(crate) static RECOVERY_ADDED: ChangeRule = ChangeRule {
    id: "recovery-added",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("recovery_added.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if let (None, Some(recovery)) = (failure.before.recovery(), failure.after.recovery()) {
        let says = format!("it says what to do: {}", recovery.verb().as_str());
        changes.push(Compatibility::Compatible, failure.address(), says, "nothing has to be done");
    }
}
