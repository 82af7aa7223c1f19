//! The message of a failure names a value that its details do not have.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("message_without_detail.md")]
pub(crate) static MESSAGE_WITHOUT_DETAIL: LintRule = LintRule {
    rule: Rule {
        id: "message-without-detail",
        since: "0.1.0",
        level: RuleLevel::Deny,
        page: include_str!("message_without_detail.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        for name in placeholders(failure.message()).filter(|name| failure.details().property(name).is_none()) {
            let says = format!("its message names `{name}`, and its details do not have it");
            lints.push(&address(operation, failure), says, "make the value a public field");
        }
    }
}

/// The names in braces.
fn placeholders(message: &str) -> impl Iterator<Item = &str> {
    message.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name.trim())
}
