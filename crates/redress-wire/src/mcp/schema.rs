//! Schemas that stand on their own: references put in place, vendors' words left out.

use std::collections::{HashMap, HashSet};

use redress_contract::{Holds, Schema};
use serde_json::{Map, Value};

/// How many schemas a tool's schema may consist of before references stay references. Types
/// that share others in many places would grow without end.
const MAX_NODES: usize = 2_000;

/// Formats that JSON Schema itself defines. Hosts refuse schemas for others.
const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// How deep references are put in place. What nests deeper is read by fewer hosts than a reference is.
const MAX_DEPTH: usize = 24;

/// Words that say something about a schema and nothing about a value, so that one beside a
/// reference replaces the referred one's.
const NOTES: [&str; 7] = ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Words that ask something of a value whatever stands beside them.
const ALONE: [&str; 19] = [
    "type",
    "enum",
    "const",
    "required",
    "dependentRequired",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "format",
];

/// A schema without the definitions that it still refers to.
pub(super) struct PlainSchema {
    pub(super) schema: Map<String, Value>,
    pub(super) definitions: Map<String, Value>,
}

/// The schema on its own: references are put in place, except where that would never end;
/// vendors' words and formats are left out.
///
/// ```
/// use serde_json::json;
///
/// let schema = json!({
///     "$defs": {"Size": {"type": "integer", "format": "uint32"}},
///     "type": "object",
///     "properties": {"size": {"$ref": "#/$defs/Size", "description": "How large."}},
/// });
/// let expected = json!({
///     "type": "object",
///     "properties": {"size": {"type": "integer", "description": "How large."}},
/// });
/// assert_eq!(redress_wire::mcp::plain(&schema), expected);
/// ```
pub fn plain(schema: &Value) -> Value {
    apart(&Schema::new(schema.clone())).rooted()
}

/// The same, with the definitions apart.
pub(super) fn apart(schema: &Schema) -> PlainSchema {
    let Ok(root) = schema.bundled() else {
        // Its meaning is not known, so nothing of it is left out.
        let schema = schema.as_value().as_object().cloned().unwrap_or_default();
        return PlainSchema { schema, definitions: Map::new() };
    };
    let mut plainer = Plainer { root: &root, nodes: 0, depth: 0, within: Vec::new(), kept: KeptReferences::default() };
    let schema = plainer.schema(root.as_value());
    let mut definitions = Map::new();
    // Making a definition plain may find others that have to stay.
    while let Some((name, referred)) = plainer.kept.left.pop() {
        plainer.within.push(address(referred));
        let made = plainer.schema(referred);
        plainer.within.pop();
        definitions.insert(name, Value::Object(made));
    }
    PlainSchema { schema, definitions }
}

impl PlainSchema {
    pub(super) fn rooted(self) -> Value {
        let PlainSchema { mut schema, definitions } = self;
        if !definitions.is_empty() {
            schema.insert("$defs".into(), Value::Object(definitions));
        }
        Value::Object(schema)
    }
}

struct Plainer<'a> {
    root: &'a Schema,
    nodes: usize,
    depth: usize,
    /// What is being put in the place of a reference, outermost first.
    within: Vec<usize>,
    kept: KeptReferences<'a>,
}

/// The references that stay: each definition has one name, and each name one definition.
#[derive(Default)]
struct KeptReferences<'a> {
    names: HashMap<usize, String>,
    taken: HashSet<String>,
    /// The number that the next definition of a name gets.
    numbers: HashMap<String, usize>,
    left: Vec<(String, &'a Value)>,
}

impl<'a> KeptReferences<'a> {
    fn name(&mut self, reference: &str, referred: &'a Value) -> String {
        if let Some(name) = self.names.get(&address(referred)) {
            return name.clone();
        }
        let plain = name(reference);
        let number = self.numbers.entry(plain.clone()).or_insert(1);
        let name = loop {
            let name = if *number == 1 { plain.clone() } else { format!("{plain}_{number}") };
            *number += 1;
            if self.taken.insert(name.clone()) {
                break name;
            }
        };
        self.names.insert(address(referred), name.clone());
        self.left.push((name.clone(), referred));
        name
    }
}

fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

impl<'a> Plainer<'a> {
    fn schema(&mut self, schema: &'a Value) -> Map<String, Value> {
        self.nodes += 1;
        self.depth += 1;
        let plain = match schema {
            Value::Object(words) => self.words(words),
            Value::Bool(false) => Map::from_iter([("not".to_owned(), Value::Object(Map::new()))]),
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        };
        self.depth -= 1;
        plain
    }

    fn words(&mut self, words: &'a Map<String, Value>) -> Map<String, Value> {
        let mut plain = Map::new();
        for (word, value) in words {
            if let Some(value) = self.word(word, value) {
                plain.insert(word.clone(), value);
            }
        }
        match words.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.refer(reference, plain),
            None => plain,
        }
    }

    fn word(&mut self, word: &str, value: &'a Value) -> Option<Value> {
        match (word, value) {
            ("$ref" | "$schema" | "$id" | "$comment" | "$defs" | "definitions", _) => return None,
            ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => return None,
            _ if word.starts_with("x-") => return None,
            // A truth value here is a word of its own, which hosts know.
            ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", Value::Bool(_)) => {
                return Some(value.clone());
            }
            _ => {}
        }
        Some(match (Holds::by(word), value) {
            (Holds::Schema, _) => Value::Object(self.schema(value)),
            (Holds::List, Value::Array(several)) => {
                several.iter().map(|inner| Value::Object(self.schema(inner))).collect()
            }
            (Holds::Named, Value::Object(named)) => {
                let named = named.iter().map(|(name, inner)| match inner {
                    // A list of names, as `dependencies` may have it.
                    Value::Array(_) => (name.clone(), inner.clone()),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                        (name.clone(), Value::Object(self.schema(inner)))
                    }
                });
                Value::Object(named.collect())
            }
            // Values that only look like schemas.
            (Holds::List | Holds::Named | Holds::Data, _) => value.clone(),
        })
    }

    /// Puts what `reference` leads to in the place of it, with what stood beside it.
    fn refer(&mut self, reference: &str, mut beside: Map<String, Value>) -> Map<String, Value> {
        let Some(referred) = self.root.referred(reference) else {
            // A metaschema of the standard.
            beside.insert("$ref".into(), reference.into());
            return beside;
        };
        let target = address(referred);
        if self.within.contains(&target) || self.depth > MAX_DEPTH || self.nodes > MAX_NODES {
            let name = self.kept.name(reference, referred);
            beside.insert("$ref".into(), Value::from(format!("#/$defs/{name}")));
            return beside;
        }
        self.within.push(target);
        let mut inner = self.schema(referred);
        self.within.pop();
        // Most words mean something together with their neighbours, so they keep apart from others' ones.
        let may_join = |word: &String, value: &Value| {
            let is_alone = ALONE.contains(&word.as_str()) && inner.get(word).is_none_or(|inner| inner == value);
            is_alone || NOTES.contains(&word.as_str())
        };
        if beside.iter().all(|(word, value)| may_join(word, value)) {
            inner.extend(beside);
            return inner;
        }
        if let Value::Array(all) = beside.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
            all.push(Value::Object(inner));
        }
        beside
    }
}

/// The name of what a reference leads to, as a definition: letters that need no escaping.
fn name(reference: &str) -> String {
    let path = reference.trim_start_matches("#/");
    let path = path.strip_prefix("$defs/").or_else(|| path.strip_prefix("definitions/")).unwrap_or(path);
    let path = path.replace('/', ".");
    let name: String = path.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')).collect();
    if name.is_empty() { "root".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_type_that_holds_itself_stays_a_definition() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {
                "Tree": {"type": "object", "properties": {
                    "name": {"$ref": "#/$defs/Name"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                }},
                "Name": {"type": "string", "format": "vendor"},
            },
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/Tree"}, "any": true, "x-kept": {"x-vendor": 1, "type": "null"}},
        });
        let tree = json!({"type": "object", "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        }});
        let expected = json!({
            "type": "object",
            "properties": {"tree": tree, "any": {}, "x-kept": {"type": "null"}},
            "$defs": {"Tree": tree},
        });
        assert_eq!(plain(&schema), expected);
    }

    #[test]
    fn a_root_that_holds_itself_stays_valid() {
        let schema = json!({"type": "object", "properties": {"inner": {"$ref": "#"}}});
        let plain = plain(&schema);
        assert_eq!(plain["properties"]["inner"]["properties"]["inner"], json!({"$ref": "#/$defs/root"}));
        assert_eq!(plain["$defs"]["root"]["properties"]["inner"], json!({"$ref": "#/$defs/root"}));
    }

    #[test]
    fn two_definitions_of_one_name_stay_two() {
        let of =
            |kind: &str, to: &str| json!({"type": "object", "properties": {"v": {"type": kind}, "next": {"$ref": to}}});
        let schema = json!({
            "$defs": {"N": of("string", "#/$defs/N")},
            "definitions": {"N": of("integer", "#/definitions/N")},
            "properties": {"a": {"$ref": "#/$defs/N"}, "b": {"$ref": "#/definitions/N"}},
        });
        let plain = plain(&schema);
        let leads = |member: &str| {
            let reference = plain["properties"][member]["properties"]["next"]["$ref"].as_str().unwrap();
            plain.pointer(reference.trim_start_matches('#')).unwrap()["properties"]["v"]["type"].clone()
        };
        assert_eq!((leads("a"), leads("b")), (json!("string"), json!("integer")), "{plain}");
    }

    #[test]
    fn shared_types_cannot_grow_a_schema_without_end() {
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
            definitions.insert(format!("L{level}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
        }
        definitions.insert("L40".into(), json!({"type": "string"}));
        let schema = json!({"$defs": definitions, "$ref": "#/$defs/L0"});
        assert!(plain(&schema).to_string().len() < 2_000_000);
    }

    #[test]
    fn what_stands_beside_a_reference_holds_as_well() {
        let schema = json!({
            "$defs": {"Name": {"type": "string", "minLength": 1, "description": "A name."}},
            "properties": {
                "a": {"$ref": "#/$defs/Name", "description": "The first name."},
                "b": {"$ref": "#/$defs/Name", "minLength": 3},
            },
        });
        let members = &plain(&schema)["properties"];
        assert_eq!(members["a"], json!({"type": "string", "minLength": 1, "description": "The first name."}));
        let whole = json!({"type": "string", "minLength": 1, "description": "A name."});
        assert_eq!(members["b"], json!({"minLength": 3, "allOf": [whole]}));
    }

    #[test]
    fn every_format_that_hosts_are_told_of_is_checked() {
        let refused = |format: &str| match format {
            "regex" => "(",
            "uri-template" => "{",
            "iri-reference" | "uri-reference" => "\\\\",
            "hostname" | "idn-hostname" => "-a-",
            _ => "no such thing",
        };
        for format in FORMATS {
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            let validator = options.build(&json!({"format": format})).unwrap();
            assert!(!validator.is_valid(&json!(refused(format))), "{format}");
        }
    }

    #[test]
    fn references_are_put_in_place_only_so_deep() {
        let links = 3_000;
        let definitions: Map<String, Value> = (0..links)
            .map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", (n + 1) % links), "items": true})))
            .collect();
        let plain = plain(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));
        let text = plain.to_string();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "it does not nest too deep to be read");
        jsonschema::draft202012::new(&plain).unwrap();
    }
}
