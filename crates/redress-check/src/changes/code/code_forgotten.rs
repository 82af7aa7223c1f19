//! A lock does not know a code any more that an earlier one knew.

use crate::changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, LockPair};

#[doc = include_str!("code_forgotten.md")]
pub(crate) static CODE_FORGOTTEN: ChangeRule = ChangeRule {
    id: "code-forgotten",
    since: "0.1.0",
    worst: Compatibility::Forbidden,
    page: include_str!("code_forgotten.md"),
    check: ChangeCheck::Locks(check),
};

fn check(locks: &LockPair<'_>, changes: &mut ChangesOf) {
    for code in locks.before.codes.keys().filter(|code| !locks.after.codes.contains_key(*code)) {
        let says = "the lock has forgotten it";
        changes.push(Compatibility::Forbidden, code.as_str(), says, "make the lock as the successor of the old one");
    }
}
