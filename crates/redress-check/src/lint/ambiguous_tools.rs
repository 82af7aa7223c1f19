//! Two operations have tool names that differ in nothing but a plural, an underscore or the order of words.

use std::collections::BTreeMap;

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("ambiguous_tools.md")]
pub(crate) static AMBIGUOUS_TOOLS: LintRule = LintRule {
    rule: Rule {
        id: "ambiguous-tools",
        since: "0.1.0",
        level: RuleLevel::Warn,
        page: include_str!("ambiguous_tools.md"),
    },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    let mut known: BTreeMap<Vec<String>, &str> = BTreeMap::new();
    for operation in lock.operations().filter(|operation| operation.is_external()) {
        let mut words: Vec<String> = operation
            .name()
            .as_str()
            .split(['.', '_'])
            .map(|word| word.strip_suffix('s').unwrap_or(word).to_owned())
            .collect();
        words.sort();
        if let Some(other) = known.get(&words) {
            let says = format!("its name is hard to tell from `{other}`");
            lints.push(operation.name().as_str(), says, "give them names that say in what they differ");
        } else {
            known.insert(words, operation.name().as_str());
        }
    }
}
