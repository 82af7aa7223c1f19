//! The hint of a recovery has fewer than five words.

use redress_contract::{Recovery, Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("error_contract_recovery_min_words.md")]
pub(crate) static ERROR_CONTRACT_RECOVERY_MIN_WORDS: LintRule = LintRule {
    rule: Rule {
        id: "error-contract-recovery-min-words",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("error_contract_recovery_min_words.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        let words = failure.recovery().map(|recovery| recovery.hint().split_whitespace().count());
        if words.is_some_and(|words| words < Recovery::HINT_WORDS) {
            lints.push(
                &address(operation, failure),
                "its hint has fewer than five words",
                "say what to do, as to a colleague",
            );
        }
    }
}
