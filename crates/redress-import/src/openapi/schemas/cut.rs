//! A schema cut to a budget, with every reference put in its place.
//!
//! What is made admits whatever the whole schema admits, and never less: it is open where it was cut. So nothing that an
//! opened part could turn into a refusal is kept: `oneOf` becomes `anyOf`, and `not`, `if` and `unevaluatedProperties` stay
//! only where nothing lies below them.
//!
//! Levels are tried from the most telling to the least, until one fits. Each gives up at the budget, so that what
//! references multiply costs no more than what is kept.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use redress_contract::Holds;
use serde_json::{Map, Value, json};

use super::{
    Direction, Schemas,
    join::join,
    measure::{is_within, shortened, size},
};

/// How many references in a row are followed without going deeper.
const MAX_HOPS: usize = 16;
/// The longest default that is kept.
const LONGEST_DEFAULT: usize = 80;
/// The longest pattern that is kept.
const LONGEST_PATTERN: usize = 240;

/// How many values of an `enum` are looked at for what they have in common.
const MAX_LOOKED_AT: usize = 2_000;

/// Formats that JSON Schema itself defines. Hosts refuse schemas for others, or complain of each.
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

/// Whether strict readers know this format.
pub(super) fn is_known(format: &str) -> bool {
    FORMATS.contains(&format)
}

/// How much of a schema is told.
#[derive(Clone, Copy)]
struct Level {
    /// How deep it nests.
    depth: usize,
    /// How many letters a description has.
    text: usize,
    /// How many bytes a list of values has.
    values: usize,
    /// How many alternatives there are.
    alternatives: usize,
}

const LEVELS: [Level; 10] = [
    Level { depth: 8, text: 400, values: 2_000, alternatives: 40 },
    Level { depth: 6, text: 240, values: 1_000, alternatives: 24 },
    Level { depth: 5, text: 160, values: 600, alternatives: 16 },
    Level { depth: 4, text: 120, values: 400, alternatives: 12 },
    Level { depth: 3, text: 100, values: 300, alternatives: 8 },
    Level { depth: 2, text: 80, values: 300, alternatives: 6 },
    Level { depth: 2, text: 0, values: 160, alternatives: 6 },
    Level { depth: 1, text: 60, values: 160, alternatives: 4 },
    Level { depth: 1, text: 0, values: 80, alternatives: 4 },
    Level { depth: 0, text: 0, values: 0, alternatives: 0 },
];

/// How large a schema may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::openapi) struct Measure {
    pub(in crate::openapi) depth: usize,
    pub(in crate::openapi) bytes: usize,
    pub(in crate::openapi) direction: Direction,
}

/// What was cut before, by the place that was referred to.
pub(super) type Cuts = HashMap<(String, Measure), Rc<Value>>;

/// A level took more than the budget.
struct Over;

impl Schemas<'_> {
    /// The schema, cut to the measure; whether anything was left out is not told.
    pub(in crate::openapi) fn cut(&self, schema: &Value, measure: Measure) -> Value {
        let alone = schema.as_object().filter(|words| words.len() == 1).and_then(|words| words.get("$ref"));
        let Some(Value::String(target)) = alone else { return self.cut_anew(schema, measure) };
        let key = (target.clone(), measure);
        if let Some(known) = self.cuts.borrow().get(&key) {
            return (**known).clone();
        }
        let made = self.cut_anew(schema, measure);
        self.cuts.borrow_mut().insert(key, Rc::new(made.clone()));
        made
    }

    fn cut_anew(&self, schema: &Value, measure: Measure) -> Value {
        for level in LEVELS {
            let level = Level { depth: level.depth.min(measure.depth), ..level };
            let mut cutter = Cutter { schemas: self, level, direction: measure.direction, left: measure.bytes };
            if let Ok(made) = cutter.schema(schema, level.depth, 0) {
                return made;
            }
        }
        self.skeleton(schema, measure)
    }

    /// The names and types of as many members as fit, those first that there have to be.
    fn skeleton(&self, schema: &Value, measure: Measure) -> Value {
        let schema = self.resolved(schema);
        let Some(Value::Object(members)) = schema.get("properties") else { return json!({}) };
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let level = Level { depth: 0, text: 0, values: 0, alternatives: 0 };
        let mut cutter = Cutter { schemas: self, level, direction: measure.direction, left: measure.bytes };
        let mut kept = Map::new();
        let first = members.iter().filter(|(name, _)| required.contains(&name.as_str()));
        let then = members.iter().filter(|(name, _)| !required.contains(&name.as_str()));
        for (name, member) in first.chain(then) {
            if cutter.spend(name.len() + 8).is_err() {
                break;
            }
            let Ok(member) = cutter.schema(member, 0, 0) else { break };
            kept.insert(name.clone(), member);
        }
        // Members that are not named any more are still taken, wherever the whole schema takes them.
        let required: Vec<&str> = required.into_iter().filter(|name| kept.contains_key(*name)).collect();
        let mut made = json!({"type": "object", "properties": kept});
        if let (false, Value::Object(made)) = (required.is_empty(), &mut made) {
            made.insert("required".into(), json!(required));
        }
        made
    }
}

struct Cutter<'s, 'd> {
    schemas: &'s Schemas<'d>,
    level: Level,
    direction: Direction,
    left: usize,
}

impl Cutter<'_, '_> {
    fn spend(&mut self, bytes: usize) -> Result<(), Over> {
        self.left = self.left.checked_sub(bytes).ok_or(Over)?;
        Ok(())
    }

    fn schema(&mut self, schema: &Value, depth: usize, hops: usize) -> Result<Value, Over> {
        let Value::Object(words) = schema else {
            self.spend(4)?;
            // False admits nothing, which is said in a way that every reader knows.
            return Ok(if *schema == Value::Bool(false) { json!({"not": {}}) } else { json!({}) });
        };
        self.spend(2)?;
        let mut made = Map::new();
        if let Some(target) = words.get("$ref").and_then(Value::as_str) {
            if hops >= MAX_HOPS {
                return Ok(json!({}));
            }
            let target = self.schemas.at(target);
            if let Value::Object(referred) = self.schema(&target, depth, hops + 1)? {
                made = referred;
            }
        }
        let mut own = self.words(words, depth, hops)?;
        if !made.is_empty() {
            own.remove("description").into_iter().for_each(|text| drop(made.insert("description".into(), text)));
        }
        join(&mut made, own);
        Ok(Value::Object(made))
    }

    fn words(&mut self, words: &Map<String, Value>, depth: usize, hops: usize) -> Result<Map<String, Value>, Over> {
        let mut made = Map::new();
        let absent = if depth == 0 { HashSet::new() } else { self.absent(words) };
        for (word, value) in words {
            self.word(word, value, words, &absent, depth, hops, &mut made)?;
        }
        if let Some(several) = words.get("allOf").and_then(Value::as_array) {
            for one in several {
                if let Value::Object(part) = self.schema(one, depth, hops + 1)? {
                    join(&mut made, part);
                }
            }
        }
        Ok(made)
    }

    #[expect(clippy::too_many_arguments, reason = "what a word means depends on all of them")]
    fn word(
        &mut self,
        word: &str,
        value: &Value,
        words: &Map<String, Value>,
        absent: &HashSet<&str>,
        depth: usize,
        hops: usize,
        made: &mut Map<String, Value>,
    ) -> Result<(), Over> {
        let is_leaf = depth == 0;
        let kept: Option<Value> = match word {
            "type" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minLength"
            | "maxLength" | "minItems" | "maxItems" | "uniqueItems" | "minProperties" | "maxProperties" | "const"
            | "minContains" | "dependentRequired" | "deprecated" => Some(value.clone()),
            "enum" => is_within(value, self.level.values.max(24)).then(|| value.clone()).or_else(|| {
                let types = words.get("type").is_none().then(|| common_type(value)).flatten();
                types.into_iter().for_each(|name| drop(made.insert("type".into(), name.into())));
                None
            }),
            "format" => value.as_str().filter(|format| is_known(format)).map(Value::from),
            "pattern" => is_within(value, LONGEST_PATTERN).then(|| value.clone()),
            "contentEncoding" => Some(value.clone()),
            "description" => value.as_str().and_then(|text| shortened(text, self.level.text)).map(Value::from),
            "default" => {
                let kept =
                    self.direction == Direction::Request && !value.is_null() && is_within(value, LONGEST_DEFAULT);
                kept.then(|| value.clone())
            }
            "required" => {
                let names = value.as_array().into_iter().flatten();
                let names: Vec<Value> =
                    names.filter(|name| !absent.contains(name.as_str().unwrap_or_default())).cloned().collect();
                (!names.is_empty() && !is_leaf).then_some(Value::Array(names))
            }
            "properties" if !is_leaf => {
                let mut members = Map::new();
                for (name, member) in value.as_object().into_iter().flatten() {
                    if !absent.contains(name.as_str()) {
                        self.spend(name.len() + 4)?;
                        members.insert(name.clone(), self.schema(member, depth - 1, 0)?);
                    }
                }
                Some(Value::Object(members))
            }
            "patternProperties" if !is_leaf => {
                let mut members = Map::new();
                for (name, member) in value.as_object().into_iter().flatten() {
                    self.spend(name.len() + 4)?;
                    members.insert(name.clone(), self.schema(member, depth - 1, 0)?);
                }
                (!members.is_empty()).then_some(Value::Object(members))
            }
            "additionalProperties" if !is_leaf => match value {
                Value::Bool(false) => Some(Value::Bool(false)),
                Value::Object(_) => Some(self.schema(value, depth - 1, 0)?).filter(|schema| !is_open(schema)),
                Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
            },
            "items" | "contains" if !is_leaf => {
                let below = self.schema(value, depth - 1, 0)?;
                (word == "contains" || !is_open(&below)).then_some(below)
            }
            "prefixItems" if !is_leaf => {
                let below: Result<Vec<Value>, Over> =
                    value.as_array().into_iter().flatten().map(|one| self.schema(one, depth - 1, 0)).collect();
                Some(Value::Array(below?))
            }
            "anyOf" | "oneOf" => self.alternatives(value, depth, hops)?,
            "not" | "propertyNames" if !is_leaf && is_flat(value) => Some(value.clone()),
            _ => None,
        };
        if let Some(kept) = kept {
            self.spend(word.len() + 4)?;
            if !matches!(Holds::by(word), Holds::Schema | Holds::List | Holds::Named) {
                self.spend(size(&kept))?;
            }
            let word = if word == "oneOf" { "anyOf" } else { word };
            let mut one = Map::new();
            one.insert(word.to_owned(), kept);
            join(made, one);
        }
        Ok(())
    }

    /// Alternatives; none where one of them is open, because they say nothing then.
    fn alternatives(&mut self, value: &Value, depth: usize, hops: usize) -> Result<Option<Value>, Over> {
        let several = value.as_array().map(Vec::as_slice).unwrap_or_default();
        if several.len() > self.level.alternatives || hops >= MAX_HOPS {
            return Ok(None);
        }
        // An alternative is one level deeper, unless it only says that there may be null.
        let is_null = |one: &Value| one.get("type") == Some(&Value::from("null"));
        let within = several.iter().filter(|one| !is_null(one)).count();
        let below = if within > 1 { depth.saturating_sub(1) } else { depth };
        let mut made: Vec<Value> = Vec::with_capacity(several.len());
        for one in several {
            let one = self.schema(one, below, hops + 1)?;
            if is_open(&one) {
                return Ok(None);
            }
            if !made.contains(&one) {
                made.push(one);
            }
        }
        Ok(match made.len() {
            0 => None,
            _ => Some(Value::Array(made)),
        })
    }

    /// The members that do not go this way.
    fn absent<'w>(&self, words: &'w Map<String, Value>) -> HashSet<&'w str> {
        let keyword = self.direction.absent();
        let members = words.get("properties").and_then(Value::as_object).into_iter().flatten();
        members
            .filter(|(_, member)| {
                let says = |schema: &Value| schema.get(keyword) == Some(&Value::Bool(true));
                says(member)
                    || member.get("$ref").and_then(Value::as_str).is_some_and(|target| says(&self.schemas.at(target)))
            })
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

/// Whether a schema admits everything.
fn is_open(schema: &Value) -> bool {
    match schema {
        Value::Object(words) => {
            words.keys().all(|word| word == "description" || word == "default" || word == "deprecated")
        }
        Value::Bool(yes) => *yes,
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => true,
    }
}

/// Whether a schema has no others in it, so that nothing of it is ever cut.
fn is_flat(schema: &Value) -> bool {
    schema.as_object().is_some_and(|words| {
        words.keys().all(|word| word != "$ref" && word != "format" && Holds::by(word) == Holds::Data)
            && is_within(schema, LONGEST_PATTERN)
    })
}

/// The type that all of these values have.
fn common_type(values: &Value) -> Option<&'static str> {
    let name = |value: &Value| match value {
        Value::String(_) => Some("string"),
        Value::Number(_) => Some("number"),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let values = values.as_array().filter(|values| values.len() <= MAX_LOOKED_AT)?;
    let mut values = values.iter();
    let first = name(values.next()?)?;
    values.all(|value| name(value) == Some(first)).then_some(first)
}
