//! A schema as a whole: what it refers to stands beside it, each once.

use std::collections::{BTreeSet, HashMap};

use redress_contract::Holds;
use serde_json::{Map, Value, json};

use super::{Direction, Schemas, cut::is_known, name_of};

impl Schemas<'_> {
    /// The schema with everything that it refers to, as far as it goes in this direction.
    pub(in crate::openapi) fn full(&self, schema: &Value, direction: Direction) -> Value {
        let mut whole = Whole::new(self, direction, "");
        let mut made = whole.schema(schema);
        let definitions = whole.definitions();
        if let (false, Value::Object(made)) = (definitions.is_empty(), &mut made) {
            made.insert("$defs".into(), Value::Object(definitions));
        }
        made
    }
}

/// Makes schemas whole. Those that are made by one share what they refer to.
pub(in crate::openapi) struct Whole<'s, 'd> {
    schemas: &'s Schemas<'d>,
    direction: Direction,
    /// Put behind every name.
    suffix: &'static str,
    names: HashMap<String, String>,
    taken: BTreeSet<String>,
    left: Vec<(String, String)>,
}

impl<'s, 'd> Whole<'s, 'd> {
    pub(in crate::openapi) fn new(
        schemas: &'s Schemas<'d>,
        direction: Direction,
        suffix: &'static str,
    ) -> Whole<'s, 'd> {
        Whole { schemas, direction, suffix, names: HashMap::new(), taken: BTreeSet::new(), left: Vec::new() }
    }

    /// Everything that the schemas so far refer to, by name.
    pub(in crate::openapi) fn definitions(&mut self) -> Map<String, Value> {
        let mut definitions = Map::new();
        while let Some((name, target)) = self.left.pop() {
            let referred = self.schemas.at(&target);
            definitions.insert(name, self.schema(&referred));
        }
        definitions
    }

    /// The schema with references to what [`Whole::definitions`] gives.
    pub(in crate::openapi) fn schema(&mut self, schema: &Value) -> Value {
        let Value::Object(words) = schema else { return schema.clone() };
        let mut made = Map::new();
        let absent = self.absent(words);
        for (word, value) in words {
            let kept = match (word.as_str(), Holds::by(word), value) {
                ("$ref", _, Value::String(target)) => Some(format!("#/$defs/{}", self.name(target)).into()),
                ("format", _, Value::String(format)) => is_known(format).then(|| value.clone()),
                ("required", _, Value::Array(names)) => {
                    let names = names.iter().filter(|name| !absent.contains(name.as_str().unwrap_or_default()));
                    let names: Vec<Value> = names.cloned().collect();
                    (!names.is_empty()).then_some(Value::Array(names))
                }
                (_, Holds::Schema, value) => Some(self.schema(value)),
                (_, Holds::List, Value::Array(several)) => Some(several.iter().map(|one| self.schema(one)).collect()),
                (_, Holds::Named, Value::Object(named)) => {
                    let kept = named.iter().filter(|(name, _)| word != "properties" || !absent.contains(name.as_str()));
                    let mut members = Map::new();
                    for (name, one) in kept {
                        members.insert(name.clone(), self.schema(one));
                    }
                    Some(Value::Object(members))
                }
                (_, _, value) => Some(value.clone()),
            };
            if let Some(kept) = kept {
                made.insert(word.clone(), kept);
            }
        }
        Value::Object(made)
    }

    fn absent(&self, words: &Map<String, Value>) -> BTreeSet<String> {
        let keyword = self.direction.absent();
        let members = words.get("properties").and_then(Value::as_object).into_iter().flatten();
        let absent = members.filter(|(_, member)| {
            let says = |schema: &Value| schema.get(keyword) == Some(&Value::Bool(true));
            says(member)
                || member.get("$ref").and_then(Value::as_str).is_some_and(|target| says(&self.schemas.at(target)))
        });
        absent.map(|(name, _)| name.clone()).collect()
    }

    /// The name under which what a pointer leads to stands beside the schema.
    fn name(&mut self, target: &str) -> String {
        if let Some(known) = self.names.get(target) {
            return known.clone();
        }
        let plain = format!("{}{}", name_of(target), self.suffix);
        let mut name = plain.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{plain}_{number}");
        }
        self.names.insert(target.to_owned(), name.clone());
        self.left.push((name.clone(), target.to_owned()));
        name
    }
}

/// An object of these members, of which some have to be there.
pub(in crate::openapi) fn object(
    members: Map<String, Value>,
    required: impl IntoIterator<Item = String>,
    closed: bool,
) -> Value {
    let mut made = json!({"type": "object", "properties": members});
    let required: Vec<String> = required.into_iter().collect();
    if let Value::Object(made) = &mut made {
        if !required.is_empty() {
            made.insert("required".into(), json!(required));
        }
        if closed {
            made.insert("additionalProperties".into(), false.into());
        }
    }
    made
}
