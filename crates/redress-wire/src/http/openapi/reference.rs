//! References inside a schema, once it has moved into the document's components.

use serde_json::{Map, Value};

/// Where a schema of the components is found.
pub(super) fn to(name: &str) -> Value {
    serde_json::json!({"$ref": format!("#/components/schemas/{name}")})
}

/// `schema` with its references to itself made to lead through the component `name`. A
/// reference starts at the document's root, which is no longer the schema's own.
pub(super) fn moved(schema: &Value, name: &str) -> Value {
    match schema {
        Value::Object(members) => {
            let moved = members.iter().map(|(word, value)| (word.clone(), under(word, value, name)));
            Value::Object(moved.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => schema.clone(),
    }
}

fn under(word: &str, value: &Value, name: &str) -> Value {
    match (word, value) {
        // Values that only look like schemas.
        ("const" | "enum" | "default" | "examples" | "example", _) => value.clone(),
        ("$ref" | "$dynamicRef", Value::String(reference)) => match reference.strip_prefix('#') {
            Some(pointer) => Value::from(format!("#/components/schemas/{name}{pointer}")),
            None => value.clone(),
        },
        ("properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(named)) => {
            let moved: Map<String, Value> =
                named.iter().map(|(key, schema)| (key.clone(), moved(schema, name))).collect();
            Value::Object(moved)
        }
        (_, Value::Array(schemas)) => Value::Array(schemas.iter().map(|schema| moved(schema, name)).collect()),
        (_, _) => moved(value, name),
    }
}
