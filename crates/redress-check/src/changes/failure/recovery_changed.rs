//! What to do about a failure is another verb, another operation, or is bound in another way.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("recovery_changed.md")]
pub(crate) static RECOVERY_CHANGED: ChangeRule = ChangeRule {
    id: "recovery-changed",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("recovery_changed.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    if let (Some(before), Some(after)) = (failure.before.recovery(), failure.after.recovery())
        && steps(before) != steps(after)
    {
        let says = format!("what to do was {}, and is {}", told(before), told(after));
        changes.push(Compatibility::Breaking, failure.address(), says, "keep the verb by which programs act");
    }
}

/// What programs follow: all but the words.
fn steps(recovery: &redress_contract::Recovery) -> serde_json::Value {
    let mut steps = serde_json::to_value(recovery).unwrap_or_default();
    if let Some(members) = steps.as_object_mut() {
        members.remove("hint");
        members.remove("why");
    }
    steps
}

fn told(recovery: &redress_contract::Recovery) -> String {
    let target = recovery.target().map(|name| format!(" {name}")).unwrap_or_default();
    format!("{}{target}", recovery.verb().as_str())
}
