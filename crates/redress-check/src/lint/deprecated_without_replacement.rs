//! An operation is deprecated, and neither says what to use instead nor why.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("deprecated_without_replacement.md")]
pub(crate) static DEPRECATED_WITHOUT_REPLACEMENT: LintRule = LintRule {
    rule: Rule {
        id: "deprecated-without-replacement",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("deprecated_without_replacement.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        if let Some(deprecated) = operation.deprecated()
            && deprecated.replaced_by.is_none()
            && deprecated.reason.is_none()
        {
            lints.push(
                operation.name().as_str(),
                "it is deprecated, and does not say what to use",
                "say `replaced_by` or `reason`",
            );
        }
    }
}
