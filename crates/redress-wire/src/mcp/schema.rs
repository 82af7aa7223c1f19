//! Schemas that stand on their own: references put in place, vendors' words left out.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// How many schemas a tool's schema may consist of before references stay references. Types
/// that share others in many places would grow without end.
const MOST_NODES: usize = 2_000;

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

/// Words that say something about a schema and nothing about a value, so that one beside a
/// reference replaces the referred one's.
const NOTES: [&str; 7] = ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// A schema without the definitions that it still refers to.
pub(super) struct Plain {
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
    apart(schema).rooted()
}

/// The same, with the definitions apart.
pub(super) fn apart(root: &Value) -> Plain {
    let mut plainer = Plainer { root, nodes: 0, within: Vec::new(), kept: BTreeSet::new() };
    let schema = plainer.schema(root);
    let mut definitions = Map::new();
    // Making a definition plain may find others that have to stay.
    while let Some(pointer) = plainer.kept.iter().find(|pointer| !definitions.contains_key(&name(pointer))).cloned() {
        let referred = resolve(root, &pointer).unwrap_or(&Value::Bool(true));
        plainer.within.push(pointer.clone());
        let made = plainer.schema(referred);
        plainer.within.pop();
        definitions.insert(name(&pointer), Value::Object(made));
    }
    Plain { schema, definitions }
}

impl Plain {
    pub(super) fn rooted(self) -> Value {
        let Plain { mut schema, definitions } = self;
        if !definitions.is_empty() {
            schema.insert("$defs".into(), Value::Object(definitions));
        }
        Value::Object(schema)
    }
}

struct Plainer<'a> {
    root: &'a Value,
    nodes: usize,
    /// The references that are being put in place, outermost first.
    within: Vec<String>,
    /// The references that stay.
    kept: BTreeSet<String>,
}

impl Plainer<'_> {
    fn schema(&mut self, schema: &Value) -> Map<String, Value> {
        self.nodes += 1;
        match schema {
            Value::Object(words) => self.words(words),
            Value::Bool(false) => Map::from_iter([("not".to_owned(), Value::Object(Map::new()))]),
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        }
    }

    fn words(&mut self, words: &Map<String, Value>) -> Map<String, Value> {
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

    fn word(&mut self, word: &str, value: &Value) -> Option<Value> {
        match (word, value) {
            ("$ref" | "$schema" | "$id" | "$anchor" | "$dynamicAnchor" | "$comment" | "$defs" | "definitions", _) => {
                None
            }
            ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => None,
            _ if word.starts_with("x-") => None,
            // Values that only look like schemas.
            ("const" | "enum" | "default" | "examples" | "required" | "type" | "dependentRequired", _) => {
                Some(value.clone())
            }
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                let named = named.iter().map(|(name, inner)| (name.clone(), Value::Object(self.schema(inner))));
                Some(Value::Object(named.collect()))
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(several)) => {
                Some(several.iter().map(|inner| Value::Object(self.schema(inner))).collect())
            }
            // A truth value here is a word of its own, which hosts know.
            ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", Value::Bool(_)) => {
                Some(value.clone())
            }
            (_, Value::Object(_)) => Some(Value::Object(self.schema(value))),
            ("items" | "not" | "if" | "then" | "else" | "contains" | "propertyNames", Value::Bool(_)) => {
                Some(Value::Object(self.schema(value)))
            }
            _ => Some(value.clone()),
        }
    }

    /// Puts what `reference` leads to in the place of it, with what stood beside it.
    fn refer(&mut self, reference: &str, beside: Map<String, Value>) -> Map<String, Value> {
        let Some(referred) = resolve(self.root, reference) else {
            // What lies outside must not be fetched, so it may be anything.
            return beside;
        };
        if self.within.iter().any(|outer| outer == reference) || self.nodes > MOST_NODES {
            self.kept.insert(reference.to_owned());
            let mut kept = beside;
            kept.insert("$ref".into(), Value::from(format!("#/$defs/{}", name(reference))));
            return kept;
        }
        self.within.push(reference.to_owned());
        let mut inner = self.schema(referred);
        self.within.pop();
        if beside.keys().all(|word| NOTES.contains(&word.as_str()) || !inner.contains_key(word)) {
            inner.extend(beside);
            return inner;
        }
        let mut both = beside;
        let all = both.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(all) = all {
            all.push(Value::Object(inner));
        }
        both
    }
}

fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// The name of what a reference leads to, as a definition.
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
                "c": {"$ref": "https://example.com/elsewhere"},
            },
        });
        let members = &plain(&schema)["properties"];
        assert_eq!(members["a"], json!({"type": "string", "minLength": 1, "description": "The first name."}));
        let whole = json!({"type": "string", "minLength": 1, "description": "A name."});
        assert_eq!(members["b"], json!({"minLength": 3, "allOf": [whole]}));
        assert_eq!(members["c"], json!({}));
    }
}
