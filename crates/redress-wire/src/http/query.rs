//! An input that fits into a query string: members that are words, numbers or truths, or
//! lists of such.

use std::collections::BTreeMap;

use redress_contract::{OperationDeclaration, Schema, Shape};
use serde_json::{Number, Value};

/// An input that fits into a query string.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatInput {
    parameters: BTreeMap<String, Parameter>,
}

/// One member of a flat input.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Whether the operation needs it.
    pub required: bool,
    /// Whether it may stand several times, as a list.
    pub repeated: bool,
    types: JsonTypes,
}

/// Which JSON a text may stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct JsonTypes {
    string: bool,
    number: bool,
    boolean: bool,
    null: bool,
}

impl FlatInput {
    /// The input of an operation that a plain `GET` may call: a query whose input is flat.
    pub fn of(operation: &OperationDeclaration) -> Option<FlatInput> {
        if operation.shape() == Shape::Query { FlatInput::of_schema(operation.input()) } else { None }
    }

    /// The input of a subscription that a plain `GET` may open, as a browser's `EventSource` does: one whose input is
    /// flat.
    pub fn of_stream(operation: &OperationDeclaration) -> Option<FlatInput> {
        if operation.shape() == Shape::Subscription { FlatInput::of_schema(operation.input()) } else { None }
    }

    fn of_schema(schema: &Schema) -> Option<FlatInput> {
        let object = schema.as_value().as_object()?;
        let composed = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas"];
        if object.get("type") != Some(&Value::from("object")) || composed.iter().any(|word| object.contains_key(*word))
        {
            return None;
        }
        let mut parameters = BTreeMap::new();
        for name in schema.properties() {
            let member = resolved(schema, schema.property(name)?)?;
            let repeated = member.get("type") == Some(&Value::from("array"));
            let types = types(schema, if repeated { member.get("items")? } else { member }, 0)?;
            parameters.insert(name.to_owned(), Parameter { required: schema.requires(name), repeated, types });
        }
        Some(FlatInput { parameters })
    }

    /// The members, by name.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &Parameter)> {
        self.parameters.iter().map(|(name, parameter)| (name.as_str(), parameter))
    }

    /// The input that a query string stands for, as JSON. What does not fit stays as it was
    /// written, so that the operation's schema says what is wrong with it.
    ///
    /// ```
    /// use redress_contract::OperationDeclaration;
    /// use redress_wire::http::FlatInput;
    /// use serde_json::json;
    ///
    /// let list = OperationDeclaration::query("files.list").with_input(json!({
    ///     "type": "object",
    ///     "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}},
    /// }));
    /// let flat = FlatInput::of(&list).unwrap();
    /// assert_eq!(flat.read("path=a%20b&depth=2"), r#"{"depth":2,"path":"a b"}"#);
    /// ```
    pub fn read(&self, query: &str) -> String {
        let mut members: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (name, text) in form_urlencoded::parse(query.as_bytes()) {
            let value = match self.parameters.get(&*name) {
                Some(parameter) => parameter.types.read(&text),
                None => Value::from(&*text),
            };
            members.entry(name.into_owned()).or_default().push(value);
        }
        let input: serde_json::Map<String, Value> = members
            .into_iter()
            .map(|(name, mut values)| {
                let list = values.len() > 1 || self.parameters.get(&name).is_some_and(|parameter| parameter.repeated);
                let value = if list { Value::Array(values) } else { values.pop().unwrap_or_default() };
                (name, value)
            })
            .collect();
        Value::Object(input).to_string()
    }
}

impl JsonTypes {
    fn read(self, text: &str) -> Value {
        let number = || text.parse::<Number>().ok();
        match text {
            "true" | "false" if self.boolean => Value::Bool(text == "true"),
            "null" if self.null && !self.string => Value::Null,
            _ => match number() {
                Some(number) if self.number => Value::Number(number),
                Some(_) | None => Value::from(text),
            },
        }
    }

    fn join(self, other: JsonTypes) -> JsonTypes {
        JsonTypes {
            string: self.string || other.string,
            number: self.number || other.number,
            boolean: self.boolean || other.boolean,
            null: self.null || other.null,
        }
    }
}

/// What a member refers to, where it is a reference and nothing else matters.
fn resolved<'a>(root: &'a Schema, member: &'a Value) -> Option<&'a Value> {
    match member.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.referred(reference),
        None => Some(member),
    }
}

/// The scalar types of a schema; nothing if it admits anything else.
fn types(root: &Schema, schema: &Value, depth: usize) -> Option<JsonTypes> {
    if depth > 4 {
        return None;
    }
    let schema = resolved(root, schema)?;
    let mut found = JsonTypes::default();
    for word in ["anyOf", "oneOf"] {
        for branch in schema.get(word).and_then(Value::as_array).into_iter().flatten() {
            found = found.join(types(root, branch, depth + 1)?);
        }
    }
    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
    for value in values {
        found = found.join(match value {
            Value::String(_) => JsonTypes { string: true, ..JsonTypes::default() },
            Value::Number(_) => JsonTypes { number: true, ..JsonTypes::default() },
            Value::Bool(_) => JsonTypes { boolean: true, ..JsonTypes::default() },
            Value::Null => JsonTypes { null: true, ..JsonTypes::default() },
            Value::Array(_) | Value::Object(_) => return None,
        });
    }
    let named = match schema.get("type") {
        Some(Value::Array(many)) => many.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    for name in named {
        found = found.join(match name.as_str()? {
            "string" => JsonTypes { string: true, ..JsonTypes::default() },
            "integer" | "number" => JsonTypes { number: true, ..JsonTypes::default() },
            "boolean" => JsonTypes { boolean: true, ..JsonTypes::default() },
            "null" => JsonTypes { null: true, ..JsonTypes::default() },
            _ => return None,
        });
    }
    (found != JsonTypes::default()).then_some(found)
}
