//! A hint says no more than to try again or to ask somebody.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("vague_hint.md")]
pub(crate) static VAGUE_HINT: LintRule = LintRule {
    rule: Rule { id: "vague-hint", since: "0.1.0", level: RuleLevel::Warn, page: include_str!("vague_hint.md") },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        let hint = failure.recovery().map(|recovery| recovery.hint().to_ascii_lowercase()).unwrap_or_default();
        let words = hint.split_whitespace().count();
        if let (Some(vague), true) = (VAGUE.iter().find(|vague| hint.contains(**vague)), words < 9) {
            let says = format!("its hint says no more than \"{vague}\"");
            lints.push(&address(operation, failure), says, "say what has to be different the next time");
        }
    }
}

/// What says nothing by itself.
const VAGUE: [&str; 5] =
    ["try again", "contact support", "contact the administrator", "something went wrong", "check the logs"];
