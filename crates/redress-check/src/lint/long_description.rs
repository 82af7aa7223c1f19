//! The description of an operation has more than 1,200 characters.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("long_description.md")]
pub(crate) static LONG_DESCRIPTION: LintRule = LintRule {
    rule: Rule {
        id: "long-description",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("long_description.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        let length = operation.description().chars().count();
        if length > MAX_DESCRIPTION {
            let says = format!("its description has {length} characters, about {} tokens", length / 4);
            lints.push(operation.name().as_str(), says, "keep what decides whether to call it");
        }
    }
}

/// How long a description may be.
const MAX_DESCRIPTION: usize = 1_200;
