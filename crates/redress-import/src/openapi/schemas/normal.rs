//! Every schema in one form: JSON Schema, draft 2020-12, whatever the document says that it is written in.
//!
//! What is normalised is what is there: `nullable` stands in documents of 3.1, tuples of draft 4 in those of 3.0. A keyword
//! whose value it cannot have is left out and told; that admits more, and refuses nothing that the service accepts.
//!
//! References become pointers into the document, without `#`. What refers to schemas only by name (`$defs`, `$id`,
//! anchors) and what says nothing about values (`example`, `xml`, `x-…`) is left out.

use serde_json::{Map, Number, Value, json};

use super::Schemas;
use crate::document::{Members, Node, pointer};

const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

/// Lower and upper bounds of one thing; where the lower is above the upper, nothing would fit.
const BOUNDS: [(&str, &str); 7] = [
    ("minimum", "maximum"),
    ("minimum", "exclusiveMaximum"),
    ("exclusiveMinimum", "maximum"),
    ("exclusiveMinimum", "exclusiveMaximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];

impl Schemas<'_> {
    /// The schema at `place` in the one form.
    pub(super) fn normal(&self, node: &Node, place: &str) -> Value {
        match node {
            Node::Bool(yes) => Value::Bool(*yes),
            Node::Object(members) => self.keywords(node, members, place),
            Node::Null => Value::Bool(true),
            Node::Number(_) | Node::String(_) | Node::Array(_) => {
                self.warn(place, "bad-schema", "a schema is an object; anything is admitted here");
                Value::Bool(true)
            }
        }
    }

    fn keywords(&self, node: &Node, members: &Members, place: &str) -> Value {
        let mut made = Map::new();
        for (keyword, value) in members.iter() {
            self.keyword(keyword, value, node, place, &mut made);
        }
        self.bounds(&mut made, place);
        if node.says("nullable") || node.says("x-nullable") {
            made = nullable(made);
        }
        Value::Object(made)
    }

    fn keyword(&self, keyword: &str, value: &Node, whole: &Node, place: &str, made: &mut Map<String, Value>) {
        let at = || pointer::joined(place, keyword);
        let odd = |what: &str| self.warn(&at(), "bad-keyword", what);
        match keyword {
            "$ref" | "$dynamicRef" => {
                if let Some(reference) = value.as_str() {
                    match self
                        .source
                        .target(reference)
                        .and_then(|target| self.source.resolve(reference).map(|_| target))
                    {
                        Ok(target) => {
                            made.insert("$ref".into(), target.into());
                        }
                        Err(broken) => {
                            self.warn(&at(), "broken-reference", &format!("{broken}; anything is admitted here"))
                        }
                    }
                }
            }
            "type" => match types(value, whole) {
                Some(Value::Null) => {}
                Some(types) => {
                    if value.as_str() == Some("file") {
                        made.insert("format".into(), "binary".into());
                    }
                    made.insert("type".into(), types);
                }
                None => odd("this is no type of JSON; any is admitted"),
            },
            "enum" => match value.as_array() {
                Some([]) => odd("an empty `enum` admits nothing; it is left out"),
                Some(values) => {
                    made.insert("enum".into(), Value::Array(distinct(values)));
                }
                None => odd("an `enum` is a list; it is left out"),
            },
            "const" | "default" => {
                made.insert(keyword.into(), value.to_value());
            }
            "required" => match value {
                Node::Array(names) => {
                    let mut known = std::collections::HashSet::new();
                    let names = names.iter().filter_map(Node::as_str).filter(|name| known.insert(*name));
                    let names: Vec<Value> = names.map(Value::from).collect();
                    if !names.is_empty() {
                        made.insert("required".into(), Value::Array(names));
                    }
                }
                Node::Bool(_) => odd("`required` is a list of names here; it is left out"),
                Node::Null | Node::Number(_) | Node::String(_) | Node::Object(_) => {
                    odd("`required` is a list of names; it is left out");
                }
            },
            "minimum" | "maximum" | "multipleOf" => match number(value) {
                Some(number) if keyword != "multipleOf" || number.as_f64().is_some_and(|number| number > 0.0) => {
                    // In draft 4 a boolean beside it says that the bound itself is not admitted.
                    let exclusive = match keyword {
                        "minimum" => "exclusiveMinimum",
                        "maximum" => "exclusiveMaximum",
                        _ => "",
                    };
                    let keyword = if whole.says(exclusive) { exclusive } else { keyword };
                    made.insert(keyword.into(), Value::Number(number));
                }
                Some(_) | None => odd("this is no bound; it is left out"),
            },
            "exclusiveMinimum" | "exclusiveMaximum" => match (value, number(value)) {
                (Node::Bool(_), _) => {}
                (_, Some(number)) => {
                    made.insert(keyword.into(), Value::Number(number));
                }
                (_, None) => odd("this is no bound; it is left out"),
            },
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
            | "maxContains" => match count(value) {
                Some(count) => {
                    made.insert(keyword.into(), count.into());
                }
                None => odd("this is no number of things; it is left out"),
            },
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" if value.as_bool() == Some(true) => {
                made.insert(keyword.into(), true.into());
            }
            "pattern" => match value.as_str() {
                Some(pattern) => match self.portable(pattern) {
                    Some(portable) => {
                        made.insert("pattern".into(), portable.into());
                    }
                    None => odd("the pattern cannot be said in ECMA-262; it is left out"),
                },
                None => odd("a pattern is a text; it is left out"),
            },
            "format" | "contentMediaType" | "contentEncoding" | "title" | "description" => {
                if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
                    made.insert(keyword.into(), text.into());
                }
            }
            "items" => {
                if let Node::Array(items) = value {
                    let items = items.iter().enumerate();
                    let items =
                        items.map(|(index, item)| self.normal(item, &pointer::joined(&at(), &index.to_string())));
                    made.insert("prefixItems".into(), items.collect());
                } else {
                    made.insert("items".into(), self.normal(value, &at()));
                }
            }
            "additionalItems" if matches!(whole.get("items"), Some(Node::Array(_))) => {
                made.insert("items".into(), self.normal(value, &at()));
            }
            "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => {
                made.insert(keyword.into(), self.normal(value, &at()));
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => match value {
                Node::Array(several) if !several.is_empty() => {
                    let several = several
                        .iter()
                        .enumerate()
                        .map(|(index, one)| self.normal(one, &pointer::joined(&at(), &index.to_string())));
                    made.insert(keyword.into(), several.collect());
                }
                Node::Object(_) => {
                    odd("this is a list of schemas; the one that stands here is taken as such");
                    made.insert(keyword.into(), json!([self.normal(value, &at())]));
                }
                Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) | Node::Array(_) => {
                    odd("this is a list of schemas; it is left out");
                }
            },
            "properties" | "dependentSchemas" => match value.as_object() {
                Some(named) => {
                    let named = named
                        .iter()
                        .map(|(name, schema)| (name.to_owned(), self.normal(schema, &pointer::joined(&at(), name))));
                    made.insert(keyword.into(), Value::Object(named.collect()));
                }
                None if *value == Node::Null => {}
                None => odd("these are schemas by name; they are left out"),
            },
            "patternProperties" => {
                let mut named = Map::new();
                for (pattern, schema) in value.as_object().into_iter().flat_map(Members::iter) {
                    let place = pointer::joined(&at(), pattern);
                    match self.portable(pattern) {
                        Some(portable) => {
                            named.insert(portable, self.normal(schema, &place));
                        }
                        None => {
                            self.warn(&place, "bad-keyword", "the pattern cannot be said in ECMA-262; it is left out");
                            // What it let in would be refused now.
                            named.insert(".*".to_owned(), Value::Bool(true));
                        }
                    }
                }
                made.insert(keyword.into(), Value::Object(named));
            }
            "dependentRequired" | "dependencies" => {
                for (name, what) in value.as_object().into_iter().flat_map(Members::iter) {
                    let (kind, said) = match what.as_array() {
                        Some(names) => {
                            let names = names.iter().filter_map(Node::as_str).map(Value::from);
                            ("dependentRequired", names.collect())
                        }
                        None => ("dependentSchemas", self.normal(what, &pointer::joined(&at(), name))),
                    };
                    if let Value::Object(named) = made.entry(kind).or_insert_with(|| json!({})) {
                        named.insert(name.to_owned(), said);
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes bounds away that nothing could keep.
    fn bounds(&self, made: &mut Map<String, Value>, place: &str) {
        for (lower, upper) in BOUNDS {
            let bound = |keyword| made.get(keyword).and_then(Value::as_f64);
            let (Some(min), Some(max)) = (bound(lower), bound(upper)) else { continue };
            let open = lower.starts_with("exclusive") || upper.starts_with("exclusive");
            if min > max || (open && min >= max) {
                made.remove(lower);
                made.remove(upper);
                let told = format!("`{lower}` is {min} and `{upper}` is {max}, which nothing fits; both are left out");
                self.warn(place, "impossible-bounds", &told);
            }
        }
    }
}

/// What `type` says: null where it says nothing, none where it says nothing that is known.
fn types(value: &Node, whole: &Node) -> Option<Value> {
    let known = |name: &str| -> Option<&'static str> {
        match TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(name)) {
            Some(known) => Some(known),
            None if name == "file" => Some("string"),
            None => None,
        }
    };
    match value {
        Node::String(name) if **name == *"any" => Some(Value::Null),
        Node::String(name) => known(name).map(Value::from),
        Node::Array(names) => {
            let mut types: Vec<&str> = Vec::new();
            for name in names {
                types.push(if *name == Node::Null { "null" } else { known(name.as_str()?)? });
            }
            types.dedup();
            let mut seen = std::collections::BTreeSet::new();
            types.retain(|name| seen.insert(*name));
            match types.as_slice() {
                [] => Some(Value::Null),
                [one] => Some(Value::from(*one)),
                several => Some(json!(several)),
            }
        }
        // `type: null`, without quotes.
        Node::Null if whole.get("properties").is_none() => Some("null".into()),
        Node::Null => Some(Value::Null),
        Node::Bool(_) | Node::Number(_) | Node::Object(_) => None,
    }
}

fn distinct(values: &[Node]) -> Vec<Value> {
    let mut seen = std::collections::HashSet::new();
    values.iter().map(Node::to_value).filter(|value| seen.insert(value.to_string())).collect()
}

fn number(value: &Node) -> Option<Number> {
    match value {
        Node::Number(number) => Some(number.clone()),
        Node::Null | Node::Bool(_) | Node::String(_) | Node::Array(_) | Node::Object(_) => None,
    }
}

/// A number of things; `10.0` is ten.
fn count(value: &Node) -> Option<u64> {
    let number = number(value)?;
    number.as_u64().or_else(|| {
        let double = number.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole, and within what is exact"
        )]
        let whole = (0.0..=9_007_199_254_740_992.0).contains(&double).then_some(double as u64)?;
        (double.fract() == 0.0).then_some(whole)
    })
}

/// The schema with null admitted too.
fn nullable(mut made: Map<String, Value>) -> Map<String, Value> {
    const NOTES: [&str; 6] = ["title", "description", "default", "deprecated", "readOnly", "writeOnly"];
    let refers = ["$ref", "allOf", "anyOf", "oneOf", "not"].into_iter().any(|keyword| made.contains_key(keyword));
    if refers {
        let mut notes = Map::new();
        for note in NOTES {
            if let Some(value) = made.remove(note) {
                notes.insert(note.to_owned(), value);
            }
        }
        notes.insert("anyOf".into(), json!([made, {"type": "null"}]));
        return notes;
    }
    match made.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&"null".into()) => types.push("null".into()),
        Some(one @ Value::String(_)) if *one != "null" => *one = json!([one.take(), "null"]),
        Some(_) | None => {}
    }
    if let Some(Value::Array(values)) = made.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(only) = made.remove("const") {
        made.insert("enum".into(), json!([only, null]));
    }
    made
}
