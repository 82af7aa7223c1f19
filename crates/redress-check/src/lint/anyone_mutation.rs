//! Everyone may call an operation that changes something, the anonymous included.

use redress_contract::{Rule, RuleLevel, Shape};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("anyone_mutation.md")]
pub(crate) static ANYONE_MUTATION: LintRule = LintRule {
    rule: Rule {
        id: "anyone-mutation",
        since: "0.1.0",
        level: RuleLevel::Deny,
        page: include_str!("anyone_mutation.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        if operation.shape() == Shape::Mutation && operation.access().is_open() {
            lints.push(
                operation.name().as_str(),
                "everyone may call it, and it changes something",
                "ask for a caller and a scope",
            );
        }
    }
}
