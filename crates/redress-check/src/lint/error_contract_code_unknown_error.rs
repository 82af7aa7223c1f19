//! A failure is declared with the kind `unknown`.

use redress_contract::{Kind, Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("error_contract_code_unknown_error.md")]
pub(crate) static ERROR_CONTRACT_CODE_UNKNOWN_ERROR: LintRule = LintRule {
    rule: Rule {
        id: "error-contract-code-unknown-error",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("error_contract_code_unknown_error.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        if failure.kind() == Kind::Unknown {
            lints.push(
                &address(operation, failure),
                "it is of kind `unknown`",
                "choose a kind by which a client can act",
            );
        }
    }
}
