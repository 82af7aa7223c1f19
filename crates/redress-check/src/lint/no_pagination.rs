//! A query gives a list, and takes nothing by which a caller could ask for less of it.

use redress_contract::{Rule, RuleLevel, Schema, Shape};
use serde_json::Value;

use crate::{
    Lock,
    lint::{LintRule, LintsOf},
};

#[doc = include_str!("no_pagination.md")]
pub(crate) static NO_PAGINATION: LintRule = LintRule {
    rule: Rule { id: "no-pagination", since: "0.1.0", level: RuleLevel::Warn, page: include_str!("no_pagination.md") },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for operation in lock.operations() {
        let asks_for_less = !operation.narrowing().is_empty()
            || operation.input().properties().any(|name| NARROWING.contains(&name.to_ascii_lowercase().as_str()));
        if operation.shape() == Shape::Query && gives_list(operation.output()) && !asks_for_less {
            lints.push(operation.name().as_str(), "it gives a list, all of it", "take a `limit` and a `cursor`");
        }
    }
}

/// Members by which less is asked for.
const NARROWING: [&str; 14] = [
    "limit",
    "page",
    "page_size",
    "per_page",
    "cursor",
    "offset",
    "after",
    "before",
    "first",
    "last",
    "max",
    "max_results",
    "top",
    "count",
];

/// Whether the output is a list without a bound, or has one as a member.
fn gives_list(output: &Schema) -> bool {
    let is_list =
        |schema: &Value| schema.get("type") == Some(&Value::from("array")) && schema.get("maxItems").is_none();
    is_list(output.as_value()) || output.properties().any(|name| output.property(name).is_some_and(is_list))
}
