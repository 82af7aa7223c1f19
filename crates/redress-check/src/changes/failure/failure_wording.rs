//! What is said of a failure (when it happens, its message, its hint) is put in other words.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("failure_wording.md")]
pub(crate) static FAILURE_WORDING: ChangeRule = ChangeRule {
    id: "failure-wording",
    since: "0.1.0",
    worst: Compatibility::Wording,
    page: include_str!("failure_wording.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    let hint = |side: &redress_contract::FailureDeclaration| {
        side.recovery().map(|recovery| recovery.hint().to_owned()).unwrap_or_default()
    };
    let (before, after) = (failure.before, failure.after);
    for (what, was, is) in [
        ("when", before.when().to_owned(), after.when().to_owned()),
        ("message", before.message().to_owned(), after.message().to_owned()),
        ("hint", hint(before), hint(after)),
    ] {
        // A message that is not its own is the sentence that says when it happens.
        if was != is && (what != "message" || before.has_message() || after.has_message()) {
            let says = format!("its {what} was {was:?} and is {is:?}");
            changes.push(Compatibility::Wording, failure.address(), says, "read the new words as a model would");
        }
    }
}
