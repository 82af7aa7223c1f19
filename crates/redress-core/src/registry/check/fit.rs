//! Whether every value that one schema describes is a value that another accepts.

use serde_json::Value;

/// What a schema says that a value may be.
enum AllowedValues<'a> {
    /// This very value.
    Value(&'a Value),
    /// Any value of this type.
    Type(&'a str),
    /// Nothing that can be told from the schema alone.
    Anything,
}

/// Whether every value of `given` has a type, and if need be one of the values, that
/// `wanted` accepts. Bounds and patterns cannot be compared, so those are let pass.
pub(super) fn fits(given: &Value, wanted: &Value) -> bool {
    cases(given).iter().all(|case| accepts(wanted, case))
}

fn cases(schema: &Value) -> Vec<AllowedValues<'_>> {
    if let Some(values) = listed(schema) {
        values.into_iter().map(AllowedValues::Value).collect()
    } else if let Some(schemas) = alternatives(schema) {
        schemas.iter().flat_map(cases).collect()
    } else {
        types(schema)
            .map_or_else(|| vec![AllowedValues::Anything], |types| types.into_iter().map(AllowedValues::Type).collect())
    }
}

fn accepts(wanted: &Value, case: &AllowedValues<'_>) -> bool {
    let named = match (listed(wanted), case) {
        (None, _) => true,
        (Some(values), AllowedValues::Value(value)) => values.contains(value),
        (Some(_), AllowedValues::Type(_) | AllowedValues::Anything) => false,
    };
    let typed = match (types(wanted), case) {
        (None, _) => true,
        (Some(types), AllowedValues::Value(value)) => types.iter().any(|name| is_of(value, name)),
        (Some(types), AllowedValues::Type(name)) => {
            types.contains(name) || (*name == "integer" && types.contains(&"number"))
        }
        (Some(_), AllowedValues::Anything) => false,
    };
    let chosen = alternatives(wanted).is_none_or(|schemas| schemas.iter().any(|schema| accepts(schema, case)));
    named && typed && chosen
}

fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some(vec![one]),
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

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || (name == "integer" && (number.is_i64() || number.is_u64())),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_fits_where_every_type_and_value_of_it_is_accepted() {
        let documented = json!({"oneOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]});
        for (given, wanted) in [
            (json!({"type": "string"}), json!({"type": "string"})),
            (json!({"type": "integer"}), json!({"type": "number"})),
            (json!({"type": "string"}), json!({"type": ["string", "null"]})),
            (json!({"type": "string"}), json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
            (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]})),
            (json!({"const": 2}), json!({"type": "integer"})),
            (documented.clone(), json!({"type": "string"})),
            (json!({"enum": ["a"]}), documented.clone()),
            (json!({}), json!({})),
        ] {
            assert!(fits(&given, &wanted), "{given} fits {wanted}");
        }
        for (given, wanted) in [
            (json!({"type": ["string", "null"]}), json!({"type": "string"})),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!({"type": "string"})),
            (json!({"type": "number"}), json!({"type": "integer"})),
            (json!({"type": "string"}), json!({"type": "string", "enum": ["a"]})),
            (json!({"enum": ["a"]}), json!({"type": "integer"})),
            (json!({"type": "string"}), documented.clone()),
            (documented, json!({"const": "a"})),
            (json!({}), json!({"type": "string"})),
        ] {
            assert!(!fits(&given, &wanted), "{given} does not fit {wanted}");
        }
    }
}
