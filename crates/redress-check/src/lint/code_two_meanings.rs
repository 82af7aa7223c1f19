//! One code says in two operations that it happens at different times.

use std::collections::BTreeMap;

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("code_two_meanings.md")]
pub(crate) static CODE_TWO_MEANINGS: LintRule = LintRule {
    rule: Rule {
        id: "code-two-meanings",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("code_two_meanings.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    let mut known: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for (operation, failure) in failures(lock) {
        let (name, when) = (operation.name().as_str(), failure.when());
        match known.get(failure.code().as_str()) {
            Some((first, said)) if *said != when => {
                let says = format!("it happens at another time than in `{first}`");
                lints.push(&address(operation, failure), says, "say it in the same words, or give each its own code");
            }
            Some(_) => {}
            None => {
                known.insert(failure.code().as_str(), (name, when));
            }
        }
    }
}
