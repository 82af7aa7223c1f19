//! An operation whose name says that it destroys something asks no person.

use redress_contract::{Rule, RuleLevel, Shape};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("unguarded_destructive.md")]
pub(crate) static UNGUARDED_DESTRUCTIVE: LintRule = LintRule {
    rule: Rule {
        id: "unguarded-destructive",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("unguarded_destructive.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        let words = operation.name().as_str().split(['.', '_']);
        let is_destructive = words.into_iter().any(|word| DESTRUCTIVE.contains(&word));
        if operation.shape() == Shape::Mutation && is_destructive && !operation.access().needs_consent() {
            lints.push(operation.name().as_str(), "it destroys something, and no person is asked", "ask for consent");
        }
    }
}

/// Words for what cannot be undone.
const DESTRUCTIVE: [&str; 8] = ["delete", "destroy", "drop", "erase", "purge", "remove", "truncate", "wipe"];
