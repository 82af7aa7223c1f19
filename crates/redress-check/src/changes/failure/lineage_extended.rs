//! A failure extends a more general code that it did not extend before.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, FailurePair};

#[doc = include_str!("lineage_extended.md")]
pub(crate) static LINEAGE_EXTENDED: ChangeRule = ChangeRule {
    id: "lineage-extended",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("lineage_extended.md"),
    check: ChangeCheck::Failure(check),
};

fn check(failure: &FailurePair<'_>, changes: &mut ChangesOf) {
    for code in failure.after.extends().iter().filter(|code| !failure.before.extends().contains(code)) {
        let says = format!("it is a case of {code} now");
        changes.push(Compatibility::Compatible, failure.address(), says, "nothing has to be done");
    }
}
