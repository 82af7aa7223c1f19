//! A schema read into the few forms that can be followed while a type is decoded.
//!
//! Absent on purpose: unions of objects, conditions, references, patterned or counted properties and
//! unique items. A schema that uses one of them is not read here; the validator checks it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::bounds::NumberBounds;
use super::shape::SchemaError;
use super::string_rules::{StringRules, size};

/// One place of a schema.
#[derive(Debug)]
pub(super) struct DecodeNode {
    /// The place among all nodes of its schema, counted from the root.
    pub(super) id: usize,
    /// Whether `null` is accepted besides what `kind` says.
    pub(super) nullable: bool,
    pub(super) kind: DecodeKind,
}

#[derive(Debug)]
pub(super) enum DecodeKind {
    Any,
    Null,
    Bool,
    Number(NumberBounds),
    Text(StringRules),
    List(DecodeList),
    Tuple(Vec<DecodeNode>),
    Fields(DecodeFields),
    Map(Box<DecodeNode>),
}

#[derive(Debug)]
pub(super) struct DecodeList {
    pub(super) item: Box<DecodeNode>,
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
}

#[derive(Debug)]
pub(super) struct DecodeFields {
    pub(super) known: Vec<DecodeField>,
    /// Whether fields that are not known are accepted.
    pub(super) open: bool,
}

#[derive(Debug)]
pub(super) struct DecodeField {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) node: DecodeNode,
}

impl DecodeNode {
    /// Reads a schema; `None` when it says something that only the validator understands.
    pub(super) fn read(schema: &Value) -> Result<Option<Self>, SchemaError> {
        NodeReader { next: 0 }.node(schema)
    }

    /// Whether an object here or below takes fields by any name: a type that does not know them
    /// cannot tell that one stands twice.
    pub(super) fn takes_any_name(&self) -> bool {
        match &self.kind {
            DecodeKind::Any | DecodeKind::Map(_) => true,
            DecodeKind::Null | DecodeKind::Bool | DecodeKind::Number(_) | DecodeKind::Text(_) => false,
            DecodeKind::List(list) => list.item.takes_any_name(),
            DecodeKind::Tuple(items) => items.iter().any(Self::takes_any_name),
            DecodeKind::Fields(fields) => fields.open || fields.known.iter().any(|field| field.node.takes_any_name()),
        }
    }

    /// How many nodes there are, this one and all below.
    pub(super) fn count(&self) -> usize {
        1 + match &self.kind {
            DecodeKind::Any | DecodeKind::Null | DecodeKind::Bool | DecodeKind::Number(_) | DecodeKind::Text(_) => 0,
            DecodeKind::List(list) => list.item.count(),
            DecodeKind::Map(value) => value.count(),
            DecodeKind::Tuple(items) => items.iter().map(Self::count).sum(),
            DecodeKind::Fields(fields) => fields.known.iter().map(|field| field.node.count()).sum(),
        }
    }
}

type NodeResult<T> = Result<Option<T>, SchemaError>;

struct NodeReader {
    next: usize,
}

impl NodeReader {
    fn node(&mut self, schema: &Value) -> NodeResult<DecodeNode> {
        let id = self.next;
        self.next += 1;
        let keywords = match schema {
            Value::Bool(true) => return Ok(Some(node(id, DecodeKind::Any))),
            Value::Object(keywords) => keywords,
            Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Ok(None);
            }
        };
        if !annotations_are_sound(keywords) {
            return Ok(None);
        }
        if let Some(inner) = nullable_union(keywords) {
            self.next = id;
            let Some(mut inner) = self.node(inner)? else {
                return Ok(None);
            };
            inner.nullable = true;
            return Ok(Some(inner));
        }
        if let Some(choices) = documented_choices(keywords) {
            let text = StringRules::read(&Map::new(), Some(choices))?;
            return Ok(text.map(|text| node(id, DecodeKind::Text(text))));
        }
        let Some((name, mut nullable)) = single_type(keywords) else {
            return Ok(None);
        };
        let kind = match name {
            None if says_only(keywords, &[]) => Some(DecodeKind::Any),
            None => None,
            Some("null") if says_only(keywords, &["type"]) => Some(DecodeKind::Null),
            Some("boolean") if says_only(keywords, &["type"]) => Some(DecodeKind::Bool),
            Some("integer") => number(keywords, true),
            Some("number") => number(keywords, false),
            Some("string") => text(keywords, &mut nullable)?,
            Some("array") => self.array(keywords)?,
            Some("object") => self.object(keywords)?,
            Some(_) => None,
        };
        Ok(kind.map(|kind| DecodeNode { id, nullable, kind }))
    }

    fn array(&mut self, keywords: &Map<String, Value>) -> NodeResult<DecodeKind> {
        let (Some(min), Some(max)) = (size(keywords, "minItems"), size(keywords, "maxItems")) else {
            return Ok(None);
        };
        if let Some(Value::Array(prefix)) = keywords.get("prefixItems") {
            let exact = min == Some(prefix.len()) && max == min;
            if !exact || !says_only(keywords, &["type", "prefixItems", "minItems", "maxItems"]) {
                return Ok(None);
            }
            let mut items = Vec::with_capacity(prefix.len());
            for schema in prefix {
                let Some(item) = self.node(schema)? else {
                    return Ok(None);
                };
                items.push(item);
            }
            return Ok(Some(DecodeKind::Tuple(items)));
        }
        // `uniqueItems` would need all items at hand at the end of the list.
        if !says_only(keywords, &["type", "items", "minItems", "maxItems"]) {
            return Ok(None);
        }
        let item = self.node(keywords.get("items").unwrap_or(&Value::Bool(true)))?;
        Ok(item.map(|item| DecodeKind::List(DecodeList { item: Box::new(item), min, max })))
    }

    fn object(&mut self, keywords: &Map<String, Value>) -> NodeResult<DecodeKind> {
        if !says_only(keywords, &["type", "properties", "required", "additionalProperties"]) {
            return Ok(None);
        }
        let further = keywords.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let Some(required) = required(keywords) else {
            return Ok(None);
        };
        let properties = match keywords.get("properties") {
            Some(Value::Object(properties)) => properties,
            Some(_) => return Ok(None),
            None if further == &Value::Bool(false) => &Map::new(),
            None if required.is_empty() => {
                let value = self.node(further)?;
                return Ok(value.map(|value| DecodeKind::Map(Box::new(value))));
            }
            None => return Ok(None),
        };
        let &Value::Bool(open) = further else {
            return Ok(None);
        };
        if !required.iter().all(|name| properties.contains_key(*name)) {
            return Ok(None);
        }
        let mut known = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            let Some(node) = self.node(schema)? else {
                return Ok(None);
            };
            known.push(DecodeField { name: name.clone(), required: required.contains(name.as_str()), node });
        }
        Ok(Some(DecodeKind::Fields(DecodeFields { known, open })))
    }
}

fn node(id: usize, kind: DecodeKind) -> DecodeNode {
    DecodeNode { id, nullable: false, kind }
}

fn number(keywords: &Map<String, Value>, whole: bool) -> Option<DecodeKind> {
    let mut known = vec!["type"];
    known.extend(NumberBounds::KEYWORDS);
    if !says_only(keywords, &known) {
        return None;
    }
    NumberBounds::read(keywords, whole).map(DecodeKind::Number)
}

fn text(keywords: &Map<String, Value>, nullable: &mut bool) -> NodeResult<DecodeKind> {
    let mut known = vec!["type", "enum", "const"];
    known.extend(StringRules::KEYWORDS);
    if !says_only(keywords, &known) {
        return Ok(None);
    }
    let listed = match (keywords.get("enum"), keywords.get("const")) {
        (None, None) => None,
        (Some(Value::Array(listed)), None) => Some(listed.as_slice()),
        (None, Some(only)) => Some(std::slice::from_ref(only)),
        _ => return Ok(None),
    };
    let Some(listed) = listed else {
        return Ok(StringRules::read(keywords, None)?.map(DecodeKind::Text));
    };
    *nullable &= listed.contains(&Value::Null);
    let choices: Option<Vec<String>> =
        listed.iter().filter(|value| !value.is_null()).map(|value| value.as_str().map(str::to_owned)).collect();
    match choices {
        Some(choices) if !choices.is_empty() => Ok(StringRules::read(keywords, Some(choices))?.map(DecodeKind::Text)),
        _ => Ok(None),
    }
}

/// The one type besides `null`, and whether `null` is there; `None` for several types.
fn single_type(keywords: &Map<String, Value>) -> Option<(Option<&str>, bool)> {
    match keywords.get("type") {
        None => Some((None, false)),
        Some(Value::String(one)) => Some((Some(one), false)),
        Some(Value::Array(several)) => match several.as_slice() {
            [Value::String(one), Value::String(null)] if null == "null" && one != "null" => Some((Some(one), true)),
            [Value::String(null), Value::String(one)] if null == "null" && one != "null" => Some((Some(one), true)),
            [Value::String(one)] => Some((Some(one), false)),
            _ => None,
        },
        Some(_) => None,
    }
}

/// The `X` of `anyOf: [X, {"type": "null"}]`, which is how an optional type is described.
fn nullable_union(keywords: &Map<String, Value>) -> Option<&Value> {
    if !says_only(keywords, &["anyOf"]) {
        return None;
    }
    match keywords.get("anyOf")?.as_array()?.as_slice() {
        [inner, null] if null.as_object().is_some_and(is_null) => Some(inner),
        _ => None,
    }
}

fn is_null(keywords: &Map<String, Value>) -> bool {
    keywords.len() == 1 && keywords.get("type").is_some_and(|name| name == "null")
}

/// The strings of `oneOf: [{"const": "a"}, …]`, which is how an enum with documented variants is described.
fn documented_choices(keywords: &Map<String, Value>) -> Option<Vec<String>> {
    if !says_only(keywords, &["oneOf"]) {
        return None;
    }
    let mut choices: Vec<String> = Vec::new();
    let mut distinct: HashSet<&str> = HashSet::new();
    for branch in keywords.get("oneOf")?.as_array()? {
        let branch = branch.as_object()?;
        let is_text = branch.get("type").is_some_and(|name| name == "string");
        if !is_text || !says_only(branch, &["type", "const", "enum"]) || !annotations_are_sound(branch) {
            return None;
        }
        let listed = match (branch.get("const"), branch.get("enum")) {
            (Some(only), None) => std::slice::from_ref(only),
            (None, Some(Value::Array(listed))) => listed.as_slice(),
            _ => return None,
        };
        for choice in listed {
            let choice = choice.as_str()?;
            // A string in two branches satisfies both, and so satisfies no `oneOf`.
            if !distinct.insert(choice) {
                return None;
            }
            choices.push(choice.to_owned());
        }
    }
    (!choices.is_empty()).then_some(choices)
}

fn required(keywords: &Map<String, Value>) -> Option<HashSet<&str>> {
    match keywords.get("required") {
        None => Some(HashSet::new()),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().map(Value::as_str).collect::<Option<_>>()?;
            let distinct: HashSet<&str> = names.iter().copied().collect();
            (distinct.len() == names.len()).then_some(distinct)
        }
        Some(_) => None,
    }
}

/// Whether the schema asserts nothing besides `known`.
fn says_only(keywords: &Map<String, Value>, known: &[&str]) -> bool {
    keywords.keys().all(|keyword| known.contains(&keyword.as_str()) || is_annotation(keyword))
}

fn is_annotation(keyword: &str) -> bool {
    const ANNOTATIONS: [&str; 8] =
        ["title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"];
    ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-")
}

/// Whether annotations have the types the metaschema gives them; if not, the validator says so at
/// registration.
fn annotations_are_sound(keywords: &Map<String, Value>) -> bool {
    keywords.iter().all(|(keyword, value)| match keyword.as_str() {
        "title" | "description" | "$comment" => value.is_string(),
        "examples" => value.is_array(),
        "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        _ => true,
    })
}
