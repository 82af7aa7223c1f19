//! A failure does not say what to do about it.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("error_contract_recovery_required.md")]
pub(crate) static ERROR_CONTRACT_RECOVERY_REQUIRED: LintRule = LintRule {
    rule: Rule {
        id: "error-contract-recovery-required",
        since: "0.1.0",
        level: RuleLevel::Deny,
        page: include_str!("error_contract_recovery_required.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        if failure.recovery().is_none() {
            lints.push(
                &address(operation, failure),
                "it does not say what to do about it",
                "give it a recovery; `stop` says that nothing helps",
            );
        }
    }
}
