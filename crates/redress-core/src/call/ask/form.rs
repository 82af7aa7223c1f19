//! A form that a person fills in: flat fields, each with a schema.

use redress_input::InputShape;
use serde_json::{Map, Value, json};

use crate::Input;

/// A form that a person fills in.
///
/// ```
/// use redress_core::{Field, Form};
///
/// let form = Form::new()
///     .field("name", Field::text().described("What to call you."))
///     .field("size", Field::choice(["small", "large"]).with_default("small").optional());
/// assert_eq!(form.schema()["required"], serde_json::json!(["name"]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    schema: Value,
}

/// One field of a form. It has to be filled in unless it is [`optional`](Field::optional).
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    schema: Map<String, Value>,
    optional: bool,
}

impl Default for Form {
    fn default() -> Form {
        Form::new()
    }
}

impl Form {
    /// A form with no fields: the answer is yes or no.
    pub fn new() -> Form {
        Form { schema: json!({"type": "object", "properties": {}}) }
    }

    /// The form of a type, which must be flat: texts, numbers, booleans and enums.
    pub fn of<T: Input>() -> Form {
        Form { schema: T::schema().as_value().clone() }
    }

    /// The form of a schema: an object with flat members.
    pub fn from_schema(schema: Value) -> Form {
        Form { schema }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: &str, field: Field) -> Form {
        if let Some(form) = self.schema.as_object_mut() {
            if let Some(properties) = form.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
                properties.insert(name.to_owned(), Value::Object(field.schema));
            }
            if !field.optional
                && let Some(required) = form.entry("required").or_insert_with(|| json!([])).as_array_mut()
            {
                required.push(name.into());
            }
        }
        self
    }

    /// The form as a schema.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether `answer` is the form, filled in. A schema that does not compile accepts nothing.
    pub(super) fn takes(&self, answer: &Value) -> bool {
        InputShape::dynamic(self.schema.clone()).is_ok_and(|shape| shape.is_valid(answer))
    }
}

impl Field {
    fn new(schema: Value) -> Field {
        let schema = if let Value::Object(schema) = schema { schema } else { Map::new() };
        Field { schema, optional: false }
    }

    /// A text.
    pub fn text() -> Field {
        Field::new(json!({"type": "string"}))
    }

    /// A number.
    pub fn number() -> Field {
        Field::new(json!({"type": "number"}))
    }

    /// A whole number.
    pub fn integer() -> Field {
        Field::new(json!({"type": "integer"}))
    }

    /// Yes or no.
    pub fn boolean() -> Field {
        Field::new(json!({"type": "boolean"}))
    }

    /// One of these.
    pub fn choice<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Field {
        Field::new(json!({"type": "string", "enum": texts(values)}))
    }

    /// One of these, each a value with the title that the person reads.
    pub fn titled_choice<V: Into<String>, T: Into<String>>(values: impl IntoIterator<Item = (V, T)>) -> Field {
        Field::new(json!({"type": "string", "oneOf": titled(values)}))
    }

    /// Any number of these.
    pub fn choices<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Field {
        Field::new(json!({"type": "array", "items": {"type": "string", "enum": texts(values)}}))
    }

    /// Any number of these, each a value with the title that the person reads.
    pub fn titled_choices<V: Into<String>, T: Into<String>>(values: impl IntoIterator<Item = (V, T)>) -> Field {
        Field::new(json!({"type": "array", "items": {"anyOf": titled(values)}}))
    }

    /// Says what the field is called.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Field {
        self.with("title", title.into())
    }

    /// Says what the field is for.
    #[must_use]
    pub fn described(self, text: impl Into<String>) -> Field {
        self.with("description", text.into())
    }

    /// Says what stands in the field at first.
    #[must_use]
    pub fn with_default(self, value: impl Into<Value>) -> Field {
        self.with("default", value)
    }

    /// Sets any other keyword of the schema: `format`, `minLength`, `maximum`, `maxItems`.
    #[must_use]
    pub fn with(mut self, keyword: &str, value: impl Into<Value>) -> Field {
        self.schema.insert(keyword.to_owned(), value.into());
        self
    }

    /// Lets the field be left empty.
    #[must_use]
    pub fn optional(mut self) -> Field {
        self.optional = true;
        self
    }
}

fn texts<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Vec<String> {
    values.into_iter().map(Into::into).collect()
}

fn titled<V: Into<String>, T: Into<String>>(values: impl IntoIterator<Item = (V, T)>) -> Vec<Value> {
    values.into_iter().map(|(value, title)| json!({"const": value.into(), "title": title.into()})).collect()
}
