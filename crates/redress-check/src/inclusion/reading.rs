//! How values are written and read: what writers leave out, and what readers skip.

use redress_contract::Holds;
use serde_json::{Map, Value};

use super::{objects::speaks_of_unnamed, schema_at::SchemaAt};

/// How deep values are looked at.
const MAX_DEPTH: usize = 64;

/// The schema as a tolerant reader takes it: members that it does not know are skipped, and of alternatives the first that
/// fits is taken. What is excluded, or a condition, stays as it is.
pub(crate) fn tolerant(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else { return schema.clone() };
    let mut made = Map::new();
    for (keyword, value) in keywords {
        let read = match (keyword.as_str(), Holds::by(keyword), value) {
            ("additionalProperties" | "unevaluatedProperties", _, Value::Bool(false)) => continue,
            ("not" | "if" | "contains" | "propertyNames", _, value) => value.clone(),
            (_, Holds::Schema, value) => tolerant(value),
            (_, Holds::List, Value::Array(several)) => several.iter().map(tolerant).collect(),
            (_, Holds::Named, Value::Object(named)) => {
                Value::Object(named.iter().map(|(name, one)| (name.clone(), tolerant(one))).collect())
            }
            (_, Holds::List | Holds::Named | Holds::Data, value) => value.clone(),
        };
        // An `anyOf` that stands there already holds as well.
        match (keyword.as_str(), keywords.contains_key("anyOf")) {
            ("oneOf", false) => made.insert("anyOf".to_owned(), read),
            ("oneOf", true) => {
                let mut both = made.remove("allOf").and_then(|all| all.as_array().cloned()).unwrap_or_default();
                both.push(serde_json::json!({"anyOf": read}));
                made.insert("allOf".to_owned(), Value::Array(both))
            }
            _ => made.insert(keyword.clone(), read),
        };
    }
    Value::Object(made)
}

/// Whether every member of the value has a name in its schema, at every depth: what a writer who has read the schema sends.
pub(crate) fn is_written_down(schema: SchemaAt<'_>, value: &Value) -> bool {
    is_named(&[schema], value, 0)
}

fn is_named(schemas: &[SchemaAt<'_>], value: &Value, depth: usize) -> bool {
    if depth == MAX_DEPTH {
        return false;
    }
    let all: Vec<SchemaAt<'_>> = schemas.iter().flat_map(|schema| schema.in_place()).collect();
    match value {
        Value::Object(members) => {
            let tells_of_others = all.iter().any(|schema| speaks_of_unnamed(*schema));
            members.iter().all(|(name, value)| {
                let named: Vec<SchemaAt<'_>> = all.iter().filter_map(|schema| schema.property(name)).collect();
                if named.is_empty() {
                    return tells_of_others;
                }
                tells_of_others || is_named(&named, value, depth + 1)
            })
        }
        Value::Array(items) => {
            let below = all.iter().flat_map(|schema| schema.list("prefixItems").chain(schema.below("items")));
            let below: Vec<SchemaAt<'_>> = below.collect();
            items.iter().all(|item| below.is_empty() || is_named(&below, item, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
