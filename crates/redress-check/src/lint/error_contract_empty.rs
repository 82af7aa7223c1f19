//! An operation declares no failure.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("error_contract_empty.md")]
pub(crate) static ERROR_CONTRACT_EMPTY: LintRule = LintRule {
    rule: Rule {
        id: "error-contract-empty",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("error_contract_empty.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        if operation.failures().is_empty() {
            lints.push(
                operation.name().as_str(),
                "it declares no way in which it can fail",
                "declare its failures, each with a recovery",
            );
        }
    }
}
