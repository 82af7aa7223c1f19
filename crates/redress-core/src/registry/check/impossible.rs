//! Schemas that nothing fits, because a lower bound is above its upper one.

use crate::registry::rules;
use redress_contract::{Finding, OperationDeclaration, Schema};
use serde_json::Value;

/// The keywords that bound one thing from both sides.
const BOUNDS: [(&str, &str); 6] = [
    ("minimum", "maximum"),
    ("minimum", "exclusiveMaximum"),
    ("exclusiveMinimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];

pub(super) fn check(operations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    for operation in operations {
        let name = operation.name();
        of_schema(operation.input(), name.as_str(), "input", findings);
        of_schema(operation.output(), name.as_str(), "output", findings);
        for failure in operation.failures() {
            of_schema(failure.details(), &super::failures::subject(operation, failure), "details", findings);
        }
    }
}

fn of_schema(schema: &Schema, subject: &str, which: &str, findings: &mut Vec<Finding>) {
    let mut way = Vec::new();
    walk(schema.as_value(), &mut way, &mut |way, says| {
        let place = if way.is_empty() { String::new() } else { format!(" at `/{}`", way.join("/")) };
        findings.push(Finding::new(
            &rules::IMPOSSIBLE_SCHEMA,
            subject,
            format!("nothing fits the {which} schema{place}: {says}"),
            "let the lower bound be no more than the upper one",
        ));
    });
}

/// Tells of each place where a bound is above its other side. What `const`, `enum`, `default` and `examples` hold are
/// values and no schemas.
fn walk<'a>(schema: &'a Value, way: &mut Vec<&'a str>, say: &mut impl FnMut(&[&str], String)) {
    match schema {
        Value::Object(members) => {
            for (lower, upper) in BOUNDS {
                let (Some(min), Some(max)) = (number(members.get(lower)), number(members.get(upper))) else {
                    continue;
                };
                let open = lower.starts_with("exclusive") || upper.starts_with("exclusive");
                if min > max || (open && min >= max) {
                    say(way, format!("`{lower}` is {min}, and `{upper}` is {max}"));
                }
            }
            for (keyword, inner) in members.iter().filter(|(keyword, _)| !is_value(keyword)) {
                way.push(keyword);
                walk(inner, way, say);
                way.pop();
            }
        }
        Value::Array(each) => each.iter().for_each(|inner| walk(inner, way, say)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    value.and_then(Value::as_f64)
}

fn is_value(keyword: &str) -> bool {
    matches!(keyword, "const" | "enum" | "default" | "examples")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bound_above_its_other_side_is_told_with_its_place_and_a_value_is_no_bound() {
        let mut told = Vec::new();
        let schema = json!({
            "properties": {
                "limit": {"type": "integer", "minimum": 10, "maximum": 1},
                "open": {"minimum": 1, "exclusiveMaximum": 1},
                "name": {"minLength": 3, "maxLength": 2},
                "one": {"minimum": 1, "maximum": 1},
                "given": {"default": {"minimum": 2, "maximum": 1}, "enum": [{"minItems": 2, "maxItems": 1}]},
            },
            "anyOf": [{"items": {"minItems": 2, "maxItems": 1}}],
        });
        walk(&schema, &mut Vec::new(), &mut |way, says| told.push(format!("{}: {says}", way.join("/"))));
        told.sort();
        assert_eq!(
            told,
            [
                "anyOf/items: `minItems` is 2, and `maxItems` is 1",
                "properties/limit: `minimum` is 10, and `maximum` is 1",
                "properties/name: `minLength` is 3, and `maxLength` is 2",
                "properties/open: `minimum` is 1, and `exclusiveMaximum` is 1",
            ]
        );
    }
}
