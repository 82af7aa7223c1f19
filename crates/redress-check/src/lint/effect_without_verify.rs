//! A mutation can end without anybody knowing whether it took place, and takes no idempotency key and names no way to
//! find out.

use redress_contract::{Effect, Rule, RuleLevel, Shape, Verb};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("effect_without_verify.md")]
pub(crate) static EFFECT_WITHOUT_VERIFY: LintRule = LintRule {
    rule: Rule {
        id: "effect-without-verify",
        since: "0.1.0",
        level: RuleLevel::Deny,
        page: include_str!("effect_without_verify.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        let has_way = operation.takes_idempotency_key()
            || operation.verification().is_some()
            || failure.recovery().is_some_and(|recovery| matches!(recovery.verb(), Verb::Verify { .. }));
        if operation.shape() == Shape::Mutation && failure.effect() != Effect::None && !has_way {
            let says = format!("its effect is {}, and nobody can find out", failure.effect().as_str());
            lints.push(
                &address(operation, failure),
                says,
                "take an idempotency key, or say by `verify` how to find out",
            );
        }
    }
}
