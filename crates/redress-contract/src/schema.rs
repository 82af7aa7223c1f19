//! A JSON Schema, held as a value so that no schema library shows in the API.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A JSON Schema (draft 2020-12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema(Value);

impl Schema {
    /// The schema written in `value`.
    pub fn new(value: Value) -> Schema {
        Schema(value)
    }

    /// An object with no members.
    pub fn nothing() -> Schema {
        Schema(json!({"type": "object", "properties": {}, "additionalProperties": false}))
    }

    /// Any value at all.
    pub fn anything() -> Schema {
        Schema(Value::Bool(true))
    }

    /// The schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The schema of one member of an object.
    pub fn property(&self, name: &str) -> Option<&Value> {
        self.0.get("properties")?.get(name)
    }

    /// The names of an object's members.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        self.0.get("properties").and_then(Value::as_object).into_iter().flat_map(|map| map.keys().map(String::as_str))
    }

    /// Whether an object must have the member `name`.
    pub fn requires(&self, name: &str) -> bool {
        self.required().any(|required| required == name)
    }

    /// The members an object must have.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.0.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether an object says that it has no other members.
    pub fn is_closed(&self) -> bool {
        self.0.get("additionalProperties") == Some(&Value::Bool(false))
            || self.0.get("unevaluatedProperties") == Some(&Value::Bool(false))
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Schema {
        Schema(value)
    }
}
