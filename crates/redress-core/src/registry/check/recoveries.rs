//! Recovery plans: a next call that exists, that the same caller may make, whose fields
//! fit, and that leads nobody in a circle.

use std::collections::{BTreeMap, BTreeSet};

use redress_contract::{Binding, Failure, Finding, Operation, Shape, Verb};
use serde_json::Value;

use super::failures::subject;

pub(super) fn check(operations: &[&Operation], findings: &mut Vec<Finding>) {
    for operation in operations {
        for failure in operation.failures() {
            if let Some(Verb::Call { operation: target, bind, .. }) = failure.recovery().map(|recovery| recovery.verb())
            {
                let mut say = |rule, says: String, help: String| {
                    findings.push(Finding::new(rule, subject(operation, failure), says, help));
                };
                match operations.iter().find(|known| known.name() == target || known.aliases().contains(target)) {
                    None => say(
                        "recovery-unknown",
                        format!("its recovery calls `{target}`, and there is no such operation"),
                        near(target.as_str(), operations),
                    ),
                    Some(target) => {
                        callable(operation, target, &mut say);
                        bindings(failure, target, bind, &mut say);
                    }
                }
            }
        }
    }
    cycles(operations, findings);
}

fn near(target: &str, operations: &[&Operation]) -> String {
    let names = operations.iter().map(|operation| operation.name().as_str().to_owned());
    match crate::similar::nearest(target, names).first() {
        Some(name) => format!("did you mean `{name}`?"),
        None => "register the operation, or name one that is registered".to_owned(),
    }
}

fn callable(operation: &Operation, target: &Operation, say: &mut impl FnMut(&'static str, String, String)) {
    let name = target.name();
    if operation.is_external() && !target.is_external() {
        say(
            "recovery-hidden",
            format!("its recovery calls `{name}`, which does not exist for callers from outside"),
            format!("make `{name}` external, or name another operation"),
        );
    }
    if !operation.access().implies(target.access()) {
        say(
            "recovery-access",
            format!("its recovery calls `{name}`, which its caller may not be allowed to call"),
            format!("name an operation that asks for no more access than `{}` does", operation.name()),
        );
    }
    if target.shape() == Shape::Subscription {
        say(
            "recovery-shape",
            format!("its recovery calls `{name}`, which is a subscription"),
            "name a query or a mutation".to_owned(),
        );
    }
}

fn bindings(
    failure: &Failure,
    target: &Operation,
    bind: &[Binding],
    say: &mut impl FnMut(&'static str, String, String),
) {
    let name = target.name();
    for Binding { field, from } in bind {
        let (given, wanted) = (failure.details().property(from), target.input().property(field));
        match (given, wanted) {
            (None, _) => say(
                "recovery-field",
                format!("its recovery binds `{from}`, which is no public field of the failure"),
                "bind a public field".to_owned(),
            ),
            (Some(_), None) if target.input().is_closed() => say(
                "recovery-field",
                format!("its recovery gives `{name}` the member `{field}`, which that operation does not take"),
                format!("`{name}` takes: {}", target.input().properties().collect::<Vec<_>>().join(", ")),
            ),
            (Some(given), Some(wanted)) if !fits(given, wanted) => say(
                "recovery-field",
                format!("`{from}` does not fit the member `{field}` of `{name}`"),
                "bind a field whose every value the member accepts".to_owned(),
            ),
            (Some(_), _) => {}
        }
    }
    for required in target.input().required() {
        if !bind.iter().any(|binding| binding.field == required) {
            say(
                "recovery-field",
                format!("`{name}` requires `{required}`, and the recovery binds nothing to it"),
                format!("write `bind({required} = …)`"),
            );
        }
    }
}

/// Whether every value of `given` has a type, and if need be one of the values, that
/// `wanted` accepts. Bounds and patterns cannot be compared, so those are let pass.
fn fits(given: &Value, wanted: &Value) -> bool {
    let (given_types, wanted_types) = (types(given), types(wanted));
    let typed = match (&given_types, &wanted_types) {
        (_, None) => true,
        (None, Some(_)) => listed(given).is_some(),
        (Some(given), Some(wanted)) => {
            given.iter().all(|kind| wanted.contains(kind) || (*kind == "integer" && wanted.contains("number")))
        }
    };
    let named = match (listed(given), listed(wanted)) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(given), Some(wanted)) => given.iter().all(|value| wanted.contains(value)),
    };
    typed && named
}

fn types(schema: &Value) -> Option<BTreeSet<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some([one.as_str()].into()),
        Value::Array(many) => Some(many.iter().filter_map(Value::as_str).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn listed(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
        (Some(one), _) => Some(vec![one]),
        (None, Some(many)) => Some(many.iter().collect()),
        (None, None) => None,
    }
}

/// Finds operations whose recoveries lead back to themselves: an agent that follows the
/// plan would never get out.
fn cycles(operations: &[&Operation], findings: &mut Vec<Finding>) {
    let edges: BTreeMap<&str, Vec<&str>> = operations
        .iter()
        .map(|operation| {
            let targets = operation.failures().iter().filter_map(|failure| failure.recovery()?.target());
            (operation.name().as_str(), targets.map(|name| name.as_str()).collect())
        })
        .collect();
    let mut told = BTreeSet::new();
    for start in edges.keys() {
        if let Some(circle) = circle_from(start, &edges) {
            let mut members = circle.clone();
            members.sort_unstable();
            if told.insert(members) {
                findings.push(Finding::new(
                    "recovery-cycle",
                    *start,
                    format!("following the recoveries leads in a circle: {} → {start}", circle.join(" → ")),
                    "let one of them end otherwise: `fix_input`, `ask_user`, `wait` or `stop`",
                ));
            }
        }
    }
}

/// The way from `start` back to itself, if there is one.
fn circle_from<'a>(start: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> Option<Vec<&'a str>> {
    let mut ways: Vec<Vec<&str>> = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for target in edges.get(way.last()?).into_iter().flatten() {
            if *target == start {
                return Some(way);
            }
            if seen.insert(*target) {
                ways.push(way.iter().copied().chain([*target]).collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_fits_where_every_type_and_value_of_it_is_accepted() {
        let fits = |given, wanted| super::fits(&given, &wanted);
        assert!(fits(json!({"type": "string"}), json!({"type": "string"})));
        assert!(fits(json!({"type": "integer"}), json!({"type": "number"})));
        assert!(fits(json!({"type": "string"}), json!({"type": ["string", "null"]})));
        assert!(fits(json!({"enum": ["a"]}), json!({"enum": ["a", "b"]})));
        assert!(fits(json!({}), json!({})));
        assert!(!fits(json!({"type": ["string", "null"]}), json!({"type": "string"})));
        assert!(!fits(json!({"type": "number"}), json!({"type": "integer"})));
        assert!(!fits(json!({"type": "string"}), json!({"type": "string", "enum": ["a"]})));
        assert!(!fits(json!({}), json!({"type": "string"})));
    }
}
