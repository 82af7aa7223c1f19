//! A hint names an operation that there is not.

use redress_contract::{Name, Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("hint_unknown_operation.md")]
pub(crate) static HINT_UNKNOWN_OPERATION: LintRule = LintRule {
    rule: Rule {
        id: "hint-unknown-operation",
        since: "0.1.0",
        level: RuleLevel::Deny,
        page: include_str!("hint_unknown_operation.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        let hint = failure.recovery().map(|recovery| recovery.hint()).unwrap_or_default();
        for name in quoted(hint).filter(|name| Name::new(name).is_ok() && !is_known(lock, name)) {
            let says = format!("its hint names `{name}`, and there is no such operation");
            lints.push(&address(operation, failure), says, "name an operation that exists");
        }
    }
}

/// What stands between backticks.
fn quoted(hint: &str) -> impl Iterator<Item = &str> {
    hint.split('`').skip(1).step_by(2)
}

/// Whether there is such an operation, by name or alias. What has the name of a member (`details.body`) is none.
fn is_known(lock: &Lock, name: &str) -> bool {
    name.starts_with("details.")
        || lock.operations().any(|one| *one.name() == *name || one.aliases().iter().any(|alias| *alias == *name))
}
