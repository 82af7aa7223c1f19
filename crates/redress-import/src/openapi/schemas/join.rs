//! Two schemas that both have to hold, as one.

use serde_json::{Map, Value, json};

/// Puts the words of one schema beside those of another, both of which have to hold.
pub(super) fn join(made: &mut Map<String, Value>, more: Map<String, Value>) {
    let mut apart = Map::new();
    for (word, value) in more {
        let Some(known) = made.get_mut(&word) else {
            made.insert(word, value);
            continue;
        };
        if *known == value {
            continue;
        }
        match (word.as_str(), known, value) {
            ("description" | "deprecated" | "default", _, _) => {}
            ("required", Value::Array(known), Value::Array(names)) => {
                for name in names {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                }
            }
            ("properties", Value::Object(known), Value::Object(members)) => {
                for (name, member) in members {
                    match (known.get_mut(&name), member) {
                        (None, member) => drop(known.insert(name, member)),
                        (Some(Value::Object(known)), Value::Object(member)) => join(known, member),
                        (Some(_), _) => {}
                    }
                }
            }
            // Together they would close each other's members out, which nobody means.
            ("additionalProperties", _, _) => drop(made.remove("additionalProperties")),
            ("allOf", Value::Array(known), Value::Array(more)) => known.extend(more),
            (_, _, value) => drop(apart.insert(word, value)),
        }
    }
    if apart.is_empty() {
        return;
    }
    if let Value::Array(all) = made.entry("allOf").or_insert_with(|| json!([])) {
        all.push(Value::Object(apart));
    }
}
