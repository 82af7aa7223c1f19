//! A failure does not extend a more general code any more that it extended before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("lineage_cut.md")]
pub(crate) static LINEAGE_CUT: ChangeRule = ChangeRule {
    id: "lineage-cut",
    since: "0.1.0",
    worst: Compatibility::Breaking,
    page: include_str!("lineage_cut.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    for code in failure.before.extends().iter().filter(|code| !failure.after.extends().contains(code)) {
        let says = format!("it is not a case of {code} any more");
        changes.push(Compatibility::Breaking, failure.address(), says, "keep every code that it extended");
    }
}
