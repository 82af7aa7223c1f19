//! A member of the input has no description.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("undescribed_member.md")]
pub(crate) static UNDESCRIBED_MEMBER: LintRule = LintRule {
    rule: Rule {
        id: "undescribed-member",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("undescribed_member.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        let input = operation.input();
        for name in input.properties().filter(|name| input.property(name).is_some_and(|one| !is_described(one))) {
            lints.push(
                &format!("{}/input/{name}", operation.name()),
                "it has no description",
                "describe it in one sentence",
            );
        }
    }
}

/// Whether words stand at the member, or at what it refers to.
fn is_described(schema: &serde_json::Value) -> bool {
    ["description", "title", "$ref", "const"].into_iter().any(|word| schema.get(word).is_some())
}
