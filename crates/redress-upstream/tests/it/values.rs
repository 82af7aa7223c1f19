//! Values that a schema admits, for services that are made of their documents.

use serde_json::{Map, Value, json};

/// A value that `schema` admits, or near to it: what is required, and no more.
pub(crate) fn value_of(schema: &Value) -> Value {
    value(schema, schema, 0)
}

fn value(schema: &Value, root: &Value, depth: usize) -> Value {
    let Value::Object(words) = schema else { return json!("text") };
    if depth > 24 {
        return Value::Null;
    }
    let deeper = |schema: &Value| value(schema, root, depth + 1);
    if let Some(target) =
        words.get("$ref").and_then(Value::as_str).and_then(|at| root.pointer(at.trim_start_matches('#')))
    {
        return deeper(target);
    }
    if let Some(only) = words.get("const") {
        return only.clone();
    }
    if let Some(first) = words.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
        return first.clone();
    }
    let mut made = Map::new();
    for part in words.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        match deeper(part) {
            Value::Object(members) => made.extend(members),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                return other;
            }
        }
    }
    for word in ["oneOf", "anyOf"] {
        if let Some(first) = words.get(word).and_then(Value::as_array).and_then(|several| several.first()) {
            let made_first = deeper(first);
            if let Value::Object(members) = made_first {
                made.extend(members);
            } else if !words.contains_key("properties") {
                return made_first;
            }
        }
    }
    let named = match words.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    };
    let number = |word: &str| words.get(word).and_then(Value::as_f64);
    match named {
        Some("string") => text(words),
        Some("integer") => {
            json!(number("minimum").or(number("exclusiveMinimum").map(|n| n + 1.0)).unwrap_or(1.0).ceil() as i64)
        }
        Some("number") => json!(number("minimum").or(number("exclusiveMinimum").map(|n| n + 1.0)).unwrap_or(1.5)),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some("array") => {
            let min = words.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            let item = words.get("items").cloned().unwrap_or(json!({}));
            Value::Array((0..min).map(|_| deeper(&item)).collect())
        }
        _ if words.contains_key("properties")
            || words.contains_key("required")
            || named == Some("object")
            || !made.is_empty() =>
        {
            let required: Vec<&str> = words
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            for name in required {
                let member = words.get("properties").and_then(|all| all.get(name)).map_or(json!("text"), deeper);
                made.entry(name).or_insert(member);
            }
            Value::Object(made)
        }
        _ => json!({}),
    }
}

fn text(words: &Map<String, Value>) -> Value {
    let made = match words.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-11-18T08:00:00Z",
        Some("date") => "2026-11-18",
        Some("time") => "08:00:00Z",
        Some("uuid") => "0199b3f2-4c5b-7c11-9d52-3c8e41f0aa10",
        Some("uri" | "url" | "uri-reference") => "https://example.com/a",
        Some("email") => "a@example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("hostname") => "example.com",
        Some("byte") => "aGk=",
        _ => "text",
    };
    let length = |word: &str| words.get(word).and_then(Value::as_u64).map(|n| n as usize);
    let mut made = made.to_owned();
    while made.len() < length("minLength").unwrap_or(0) {
        made.push('x');
    }
    if let Some(max) = length("maxLength") {
        made.truncate(max);
    }
    let pattern = words.get("pattern").and_then(Value::as_str).unwrap_or_default();
    if pattern.contains("0-9") || pattern.contains("\\d") {
        // `^AC[0-9a-f]{32}$` begins with letters of its own, and says how many digits follow.
        let rest = pattern.strip_prefix('^').unwrap_or_default();
        let begins = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let count = pattern.rsplit_once('{').and_then(|(_, count)| count.strip_suffix("}$")?.parse::<usize>().ok());
        let digits = count.unwrap_or_else(|| made.len().saturating_sub(begins.len()).max(1));
        made = format!("{begins}{}", "1".repeat(digits));
    }
    made.into()
}
