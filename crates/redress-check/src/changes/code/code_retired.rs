//! No operation declares a code any more.

use crate::{
    changes::{ChangeCheck, ChangeRule, ChangesOf, Compatibility, LockPair},
    lock::CodeState,
};

#[doc = include_str!("code_retired.md")]
pub(crate) static CODE_RETIRED: ChangeRule = ChangeRule {
    id: "code-retired",
    since: "0.1.0",
    worst: Compatibility::Compatible,
    page: include_str!("code_retired.md"),
    check: ChangeCheck::Locks(check),
};

fn check(locks: &LockPair<'_>, changes: &mut ChangesOf) {
    for (code, known) in &locks.before.codes {
        let is_retired = locks.after.codes.get(code).is_some_and(|now| now.state == CodeState::Retired);
        if known.state != CodeState::Retired && is_retired {
            changes.push(
                Compatibility::Compatible,
                code.as_str(),
                "no operation declares it any more",
                "nothing has to be done",
            );
        }
    }
}
