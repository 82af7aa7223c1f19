//! An operation runs code that it is given.

use redress_contract::{Content, Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("eval_operation.md")]
pub(crate) static EVAL_OPERATION: LintRule = LintRule {
    rule: Rule {
        id: "eval-operation",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("eval_operation.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        if let Content::Eval { language, .. } = operation.content() {
            let says = format!("it runs {language} that it is given");
            lints.push(operation.name().as_str(), says, "see whether declared operations would do");
        }
    }
}
