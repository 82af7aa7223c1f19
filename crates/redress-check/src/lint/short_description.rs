//! An operation is described with fewer than three words.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("short_description.md")]
pub(crate) static SHORT_DESCRIPTION: LintRule = LintRule {
    rule: Rule {
        id: "short-description",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("short_description.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        let words = operation.summary().split_whitespace().chain(operation.description().split_whitespace()).count();
        if (1..3).contains(&words) {
            lints.push(
                operation.name().as_str(),
                "it is described with fewer than three words",
                "say what it gives and when to take it",
            );
        }
    }
}
