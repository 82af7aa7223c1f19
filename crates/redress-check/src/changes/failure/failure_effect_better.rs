//! After a failure more is known of what happened.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_effect_better.md")]
pub(crate) static FAILURE_EFFECT_BETTER: ChangeRule = ChangeRule {
    id: "failure-effect-better",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("failure_effect_better.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    let (before, after) = (failure.before.effect(), failure.after.effect());
    if super::failure_effect_worse::rank(after) < super::failure_effect_worse::rank(before) {
        let says = format!("its effect was {}, and is {}", before.as_str(), after.as_str());
        changes.push(Compatibility::Compatible, failure.address(), says, "nothing has to be done");
    }
}
