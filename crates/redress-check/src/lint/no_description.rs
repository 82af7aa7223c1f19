//! An operation says neither in a line nor at length what it does.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("no_description.md")]
pub(crate) static NO_DESCRIPTION: LintRule = LintRule {
    rule: Rule {
        id: "no-description",
        since: "0.1.0",
        level: RuleLevel::Deny,
        page: include_str!("no_description.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        if operation.summary().trim().is_empty() && operation.description().trim().is_empty() {
            lints.push(operation.name().as_str(), "it does not say what it does", "write a summary of one line");
        }
    }
}
