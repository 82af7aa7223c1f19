//! A small value that fits a schema, for examples of failures.

use redress_contract::Schema;
use serde_json::{Map, Value};

/// A small value that fits `schema`, where one can be made without guessing.
pub(super) fn sample(schema: &Schema) -> Option<Value> {
    value(schema, schema.as_value(), 0)
}

fn value(root: &Schema, schema: &Value, depth: usize) -> Option<Value> {
    if depth > 8 {
        return None;
    }
    let Value::Object(words) = schema else { return schema.as_bool().filter(|any| *any).map(|_| Value::Null) };
    let listed = |word: &str| words.get(word).and_then(Value::as_array).and_then(|values| values.first());
    if let Some(given) = words.get("const").or_else(|| words.get("default")).or_else(|| listed("examples")) {
        return Some(given.clone());
    }
    if let Some(first) = listed("enum") {
        return Some(first.clone());
    }
    if let Some(reference) = words.get("$ref").and_then(Value::as_str) {
        return value(root, root.referred(reference)?, depth + 1);
    }
    if let Some(first) = listed("oneOf").or_else(|| listed("anyOf")) {
        return value(root, first, depth + 1);
    }
    let named = words.get("type")?;
    let named = named.as_array().map_or(Some(named), |many| many.first())?.as_str()?;
    match named {
        "string" if words.contains_key("pattern") || words.contains_key("format") => None,
        "string" => {
            let min = words.get("minLength").and_then(Value::as_u64).unwrap_or(0);
            Some(Value::from("example".repeat(usize::try_from(min).ok()?.div_ceil(7).max(1))))
        }
        "integer" | "number" if words.contains_key("multipleOf") || words.contains_key("exclusiveMinimum") => None,
        "integer" | "number" => Some(words.get("minimum").cloned().unwrap_or(Value::from(1))),
        "boolean" => Some(Value::Bool(true)),
        "null" => Some(Value::Null),
        "array" if words.contains_key("minItems") => None,
        "array" => Some(Value::Array(Vec::new())),
        "object" => {
            let members = words.get("properties").and_then(Value::as_object);
            let required = words.get("required").and_then(Value::as_array).into_iter().flatten();
            let mut made = Map::new();
            for name in required.filter_map(Value::as_str) {
                made.insert(name.to_owned(), value(root, members?.get(name)?, depth + 1)?);
            }
            Some(Value::Object(made))
        }
        _ => None,
    }
}
