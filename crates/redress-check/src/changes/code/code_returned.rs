//! A code that was retired is declared again.

use crate::{
    changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, LockPair},
    lock::CodeState,
};

#[doc = include_str!("code_returned.md")]
pub(crate) static CODE_RETURNED: ChangeRule = ChangeRule {
    id: "code-returned",
    since: "0.1.0",
    worst: Compatibility::Forbidden,
    page: include_str!("code_returned.md"),
    check: ChangeCheck::Locks(check),
};

fn check(locks: &LockPair<'_>, changes: &mut ChangesOf) {
    for (code, known) in &locks.before.codes {
        let is_back = locks.after.codes.get(code).is_some_and(|now| now.state == CodeState::Active);
        if known.state == CodeState::Retired && is_back {
            let says = "it was retired, and is declared again";
            changes.push(
                Compatibility::Forbidden,
                code.as_str(),
                says,
                "choose another code; a retired one never returns",
            );
        }
    }
}
