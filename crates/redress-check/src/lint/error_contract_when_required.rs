//! A failure does not say when it happens.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("error_contract_when_required.md")]
pub(crate) static ERROR_CONTRACT_WHEN_REQUIRED: LintRule = LintRule {
    rule: Rule {
        id: "error-contract-when-required",
        since: "0.1.0",
        level: RuleLevel::Deny,
        page: include_str!("error_contract_when_required.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        if failure.when().trim().is_empty() {
            lints.push(
                &address(operation, failure),
                "it does not say when it happens",
                "say in one sentence when it happens",
            );
        }
    }
}
