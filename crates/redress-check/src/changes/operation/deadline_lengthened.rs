//! A call may take more time than before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("deadline_lengthened.md")]
pub(crate) static DEADLINE_LENGTHENED: ChangeRule = ChangeRule {
    id: "deadline-lengthened",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("deadline_lengthened.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if let Some(before) = operation.before.deadline()
        && operation.after.deadline().is_none_or(|after| after > before)
    {
        let is = super::deadline_shortened::told(operation.after.deadline());
        let says = format!("a call could take {} ms, and may take {is}", before.as_millis());
        changes.push(
            Compatibility::Compatible,
            operation.name(),
            says,
            "tell those whose clients give up by themselves",
        );
    }
}
