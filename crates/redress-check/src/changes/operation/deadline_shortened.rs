//! A call may take less time than before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, OperationPair};

#[doc = include_str!("deadline_shortened.md")]
pub(crate) static DEADLINE_SHORTENED: ChangeRule = ChangeRule {
    id: "deadline-shortened",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("deadline_shortened.md"),
    check: ChangeCheck::Operation(check),
};

fn check(operation: &OperationPair<'_>, changes: &mut ChangesOf) {
    if let Some(after) = operation.after.deadline()
        && operation.before.deadline().is_none_or(|before| after < before)
    {
        let says =
            format!("a call may take {} ms, and could take {}", after.as_millis(), told(operation.before.deadline()));
        changes.push(
            Compatibility::Breaking,
            operation.name(),
            says,
            "measure how long calls take before they are cut off",
        );
    }
}

/// A time in words.
pub(super) fn told(deadline: Option<std::time::Duration>) -> String {
    deadline.map_or_else(|| "as long as the service lets it".to_owned(), |time| format!("{} ms", time.as_millis()))
}
