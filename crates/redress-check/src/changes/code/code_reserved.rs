//! A code is set aside for something to come.

use crate::{
    changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, LockPair},
    lock::CodeState,
};

#[doc = include_str!("code_reserved.md")]
pub(crate) static CODE_RESERVED: ChangeRule = ChangeRule {
    id: "code-reserved",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("code_reserved.md"),
    check: ChangeCheck::Locks(check),
};

fn check(locks: &LockPair<'_>, changes: &mut ChangesOf) {
    for (code, now) in &locks.after.codes {
        if now.state == CodeState::Reserved && !locks.before.codes.contains_key(code) {
            changes.push(Compatibility::Compatible, code.as_str(), "it is set aside", "nothing has to be done");
        }
    }
}
