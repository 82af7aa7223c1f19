//! After a failure less is known of what happened: nothing had changed before, and now something may have.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_effect_worse.md")]
pub(crate) static FAILURE_EFFECT_WORSE: ChangeRule = ChangeRule {
    id: "failure-effect-worse",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("failure_effect_worse.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    let (before, after) = (failure.before.effect(), failure.after.effect());
    if rank(after) > rank(before) {
        let says = format!("its effect was {}, and is {}", before.as_str(), after.as_str());
        let help = "declare another code for the ending after which something may have changed";
        changes.push(Compatibility::Breaking, failure.address(), says, help);
    }
}

/// How much is left open.
pub(super) fn rank(effect: redress_contract::Effect) -> u8 {
    match effect {
        redress_contract::Effect::None => 0,
        redress_contract::Effect::Partial => 1,
        redress_contract::Effect::Unknown => 2,
    }
}
