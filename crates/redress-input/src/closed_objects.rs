//! Closing the objects of an input schema.
//!
//! `additionalProperties: false` sees only the `properties` beside it. Where an object is put
//! together from several schemas (a flattened enum, `allOf`), it would refuse the fields of the other
//! parts; there the outermost schema is closed by `unevaluatedProperties` and its parts stay open.

use serde_json::{Map, Value};

/// Closes every object below `schema` whose author has not said what further fields it takes.
pub(super) fn close(schema: &mut Value) {
    visit(schema, ObjectContext::Whole);
}

/// Whether a schema describes an object alone or together with the schema around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ObjectContext {
    Whole,
    Part,
}

fn visit(schema: &mut Value, place: ObjectContext) {
    let Value::Object(keywords) = schema else {
        return;
    };
    below(keywords);
    let composed = is_composed(keywords);
    let inner = if composed || place == ObjectContext::Part { ObjectContext::Part } else { ObjectContext::Whole };
    for union in ["anyOf", "oneOf"] {
        for branch in branches(keywords, union) {
            visit(branch, inner);
        }
    }
    for branch in branches(keywords, "allOf") {
        visit(branch, ObjectContext::Part);
    }
    for condition in ["if", "then", "else"] {
        if let Some(branch) = keywords.get_mut(condition) {
            visit(branch, ObjectContext::Part);
        }
    }
    if let Some(Value::Object(named)) = keywords.get_mut("dependentSchemas") {
        named.values_mut().for_each(|branch| visit(branch, ObjectContext::Part));
    }
    if place == ObjectContext::Whole && describes_object(keywords) && !is_said(keywords) {
        let closing = if composed { "unevaluatedProperties" } else { "additionalProperties" };
        keywords.insert(closing.to_owned(), Value::Bool(false));
    }
}

/// Visits the schemas of values inside this one, each of which is a whole of its own.
fn below(keywords: &mut Map<String, Value>) {
    for named in ["properties", "patternProperties", "$defs", "definitions"] {
        if let Some(Value::Object(named)) = keywords.get_mut(named) {
            named.values_mut().for_each(|schema| visit(schema, ObjectContext::Whole));
        }
    }
    for single in ["items", "additionalProperties", "unevaluatedProperties", "contains"] {
        if let Some(schema) = keywords.get_mut(single) {
            visit(schema, ObjectContext::Whole);
        }
    }
    for schema in branches(keywords, "prefixItems") {
        visit(schema, ObjectContext::Whole);
    }
}

fn branches<'a>(keywords: &'a mut Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a mut Value> {
    keywords.get_mut(keyword).and_then(Value::as_array_mut).into_iter().flatten()
}

/// A union alone is a choice between wholes; with fields of its own beside it, it adds to them.
fn is_composed(keywords: &Map<String, Value>) -> bool {
    let says = |keyword: &&str| keywords.contains_key(*keyword);
    ["allOf", "if", "dependentSchemas"].iter().any(says)
        || (keywords.contains_key("properties") && ["anyOf", "oneOf", "$ref"].iter().any(says))
}

fn describes_object(keywords: &Map<String, Value>) -> bool {
    let typed = match keywords.get("type") {
        Some(Value::String(one)) => one == "object",
        Some(Value::Array(several)) => several.iter().any(|one| one == "object"),
        _ => false,
    };
    if keywords.contains_key("properties") || typed {
        // A type that is only a choice between objects is closed branch by branch.
        return keywords.contains_key("properties")
            || !["anyOf", "oneOf", "$ref"].iter().any(|keyword| keywords.contains_key(*keyword));
    }
    keywords
        .get("allOf")
        .and_then(Value::as_array)
        .is_some_and(|parts| parts.iter().filter_map(Value::as_object).any(describes_object))
}

fn is_said(keywords: &Map<String, Value>) -> bool {
    ["additionalProperties", "patternProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| keywords.contains_key(*keyword))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn closed(mut schema: Value) -> Value {
        close(&mut schema);
        schema
    }

    #[test]
    fn an_object_beside_a_union_is_closed_from_outside() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "object", "properties": {}}},
            "oneOf": [{"type": "object", "properties": {"b": true}}]
        });
        assert_eq!(
            closed(schema),
            json!({
                "type": "object",
                "properties": {"a": {"type": "object", "properties": {}, "additionalProperties": false}},
                "oneOf": [{"type": "object", "properties": {"b": true}}],
                "unevaluatedProperties": false
            })
        );
    }

    #[test]
    fn each_branch_of_a_choice_is_closed_by_itself() {
        let schema = json!({"oneOf": [{"type": "object", "properties": {"b": true}}, {"type": "string"}]});
        assert_eq!(
            closed(schema),
            json!({"oneOf": [
                {"type": "object", "properties": {"b": true}, "additionalProperties": false},
                {"type": "string"}
            ]})
        );
    }

    #[test]
    fn what_an_author_opened_stays_open() {
        let schema = json!({"type": "object", "properties": {"b": true}, "additionalProperties": true});
        assert_eq!(closed(schema.clone()), schema);
    }

    #[test]
    fn an_object_made_of_parts_is_closed_around_them() {
        let schema = json!({"allOf": [{"type": "object", "properties": {"b": true}}]});
        assert_eq!(
            closed(schema),
            json!({"allOf": [{"type": "object", "properties": {"b": true}}], "unevaluatedProperties": false})
        );
    }
}
