//! An operation does not say what it gives.

use serde_json::Value;

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("no_output_schema.md")]
pub(crate) static NO_OUTPUT_SCHEMA: LintRule = LintRule {
    rule: Rule {
        id: "no-output-schema",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("no_output_schema.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        let output = operation.output().as_value();
        let is_open =
            matches!(output, Value::Bool(true)) || output.as_object().is_some_and(|keywords| keywords.is_empty());
        if is_open {
            lints.push(operation.name().as_str(), "it does not say what it gives", "declare the output");
        }
    }
}
