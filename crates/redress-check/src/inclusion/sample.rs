//! Values that a schema may admit, made from the schema: the bounds of everything, and what lies right beyond. They are
//! candidates; the validator says which of them are values of it.

use std::collections::BTreeSet;

use redress_contract::Holds;
use serde_json::{Map, Number, Value, json};

use super::{
    facet::PlaceStep,
    number::integer,
    proof::Known,
    schema_at::SchemaAt,
    text::{by_format, by_pattern},
    value_types::ValueTypes,
};

/// How deep values are made.
const MAX_DEPTH: usize = 10;
/// How many values are made of one schema, and of one that stands in another.
const MAX_VALUES: usize = 200;
const MAX_BELOW: usize = 20;
/// How many letters or items are made at most.
const MAX_LONG: usize = 300;
const MAX_ITEMS: usize = 40;
/// How many texts of the schemas are tried.
const MAX_TEXTS: usize = 40;
/// How many alternatives are tried.
const MAX_ALTERNATIVES: usize = 12;

/// What the two schemas speak of: where one draws a line, a value on either side of it is tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValuePool {
    numbers: BTreeSet<i64>,
    floats: Vec<f64>,
    sizes: BTreeSet<usize>,
    texts: BTreeSet<String>,
    formats: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl ValuePool {
    /// Adds what a schema speaks of.
    pub(crate) fn add(&mut self, schema: &Value) {
        let mut left = vec![schema];
        while let Some(schema) = left.pop() {
            let Value::Object(keywords) = schema else { continue };
            for (keyword, value) in keywords {
                match (Holds::by(keyword), value) {
                    (Holds::Schema, one) => left.push(one),
                    (Holds::List, Value::Array(several)) => left.extend(several),
                    (Holds::Named, Value::Object(named)) => {
                        if keyword == "properties" && self.names.len() < 40 {
                            self.names.extend(named.keys().cloned());
                        }
                        left.extend(named.values());
                    }
                    (_, value) => self.add_data(keyword, value),
                }
            }
        }
    }

    fn add_data(&mut self, keyword: &str, value: &Value) {
        match (keyword, value) {
            ("minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties", _) => {
                let size = value.as_u64().and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
                self.sizes.extend([size.saturating_sub(1), size, size.saturating_add(1)]);
            }
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf", Value::Number(number)) => {
                match integer(number).and_then(|number| i64::try_from(number).ok()) {
                    Some(whole) => {
                        self.numbers.extend([whole.saturating_sub(1), whole, whole.saturating_add(1)]);
                    }
                    None => self.floats.extend(number.as_f64()),
                }
            }
            ("const" | "default" | "example", value) => self.add_value(value),
            ("enum" | "examples", Value::Array(values)) => values.iter().for_each(|value| self.add_value(value)),
            ("format", Value::String(format)) => {
                self.formats.insert(format.clone());
            }
            ("required", Value::Array(names)) => {
                self.names.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }

    fn add_value(&mut self, value: &Value) {
        if let Some(text) = value.as_str().filter(|_| self.texts.len() < MAX_TEXTS) {
            self.texts.insert(text.to_owned());
        }
        self.numbers.extend(value.as_i64());
    }
}

/// Makes values. Along `focus`, everything is varied; beside it, one value is enough.
pub(crate) struct Sampler<'p> {
    pub(crate) pool: &'p ValuePool,
    pub(crate) focus: Option<&'p [PlaceStep]>,
    left: usize,
}

impl<'p> Sampler<'p> {
    pub(crate) fn new(pool: &'p ValuePool, focus: Option<&'p [PlaceStep]>) -> Sampler<'p> {
        Sampler { pool, focus, left: 1_500 }
    }

    /// Values that `schema` may admit.
    pub(crate) fn values(&mut self, schema: SchemaAt<'_>) -> Vec<Value> {
        let mut made = self.of(&Known::new([schema], false), 0, self.focus);
        made.truncate(MAX_VALUES);
        made
    }

    fn of(&mut self, known: &Known<'_>, depth: usize, focus: Option<&[PlaceStep]>) -> Vec<Value> {
        if depth == MAX_DEPTH || self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        let max = if depth == 0 { MAX_VALUES } else { MAX_BELOW };
        if let Some(alternatives) = known.alternatives() {
            let each = alternatives.iter().take(MAX_ALTERNATIVES);
            return interleaved(
                each.map(|one| self.of(&known.taking(&alternatives, *one), depth, focus)).collect(),
                max,
            );
        }
        if let Some(values) = known.values() {
            return values;
        }
        let mut made: Vec<Vec<Value>> =
            known.types.single().map(|types| self.of_type(known, types, depth, focus)).collect();
        let branches =
            ["then", "else"].into_iter().flat_map(|word| known.parts.iter().filter_map(move |p| p.below(word)));
        for branch in branches.filter(|_| depth < 4) {
            let mut both = known.clone();
            both.add(branch);
            both.parts.retain(|part| part.get("if").is_none());
            made.push(self.of(&both, depth + 1, focus));
        }
        interleaved(made, max)
    }

    fn of_type(
        &mut self,
        known: &Known<'_>,
        types: ValueTypes,
        depth: usize,
        focus: Option<&[PlaceStep]>,
    ) -> Vec<Value> {
        let is_varied = focus.is_none_or(<[PlaceStep]>::is_empty);
        if types == ValueTypes::OBJECT {
            self.objects(known, depth, focus)
        } else if types == ValueTypes::ARRAY {
            self.arrays(known, depth, focus)
        } else if types == ValueTypes::STRING {
            self.texts(known, is_varied)
        } else if types.within(ValueTypes::NUMBER) {
            self.numbers(known, types)
        } else if types == ValueTypes::NULL {
            vec![Value::Null]
        } else {
            vec![Value::Bool(true), Value::Bool(false)]
        }
    }

    fn numbers(&self, known: &Known<'_>, types: ValueTypes) -> Vec<Value> {
        if types != ValueTypes::INTEGER {
            let floats =
                [0.5, 1.5, -0.5].into_iter().chain(self.pool.floats.iter().flat_map(|f| [*f, f - 0.25, f + 0.25]));
            return floats.filter_map(Number::from_f64).map(Value::Number).collect();
        }
        let mut own: BTreeSet<i64> = BTreeSet::new();
        for of in known.said("multipleOf").filter_map(Value::as_i64) {
            for bound in known.said("minimum").chain(known.said("exclusiveMinimum")).filter_map(Value::as_i64) {
                own.insert(bound.checked_div(of).unwrap_or_default().saturating_add(1).saturating_mul(of));
            }
            own.extend([of, of.saturating_mul(2)]);
        }
        own.extend([1, 0, -1]);
        own.extend(&self.pool.numbers);
        own.into_iter().map(Value::from).collect()
    }

    fn texts(&self, known: &Known<'_>, is_varied: bool) -> Vec<Value> {
        let mut made: Vec<String> = Vec::new();
        for pattern in known.said("pattern").filter_map(Value::as_str) {
            made.extend(by_pattern(pattern));
        }
        made.extend(known.said("format").filter_map(Value::as_str).filter_map(by_format).map(str::to_owned));
        let least = known.said("minLength").filter_map(Value::as_u64).max().unwrap_or(1);
        let least = usize::try_from(least).unwrap_or(MAX_LONG).clamp(1, MAX_LONG);
        made.push("a".repeat(least));
        if is_varied {
            made.extend(["", "A1", "not a date"].map(str::to_owned));
            made.extend(self.pool.sizes.iter().filter(|size| **size <= MAX_LONG).map(|size| "a".repeat(*size)));
            made.extend(self.pool.texts.iter().cloned());
            made.extend(self.pool.formats.iter().filter_map(|format| by_format(format)).map(str::to_owned));
        }
        made.into_iter().map(Value::String).collect()
    }

    fn objects(&mut self, known: &Known<'_>, depth: usize, focus: Option<&[PlaceStep]>) -> Vec<Value> {
        let required: BTreeSet<&str> = known.parts.iter().flat_map(|part| part.texts("required")).collect();
        let named: BTreeSet<&str> =
            known.parts.iter().flat_map(|part| part.named("properties").map(|(name, _)| name)).collect();
        let step = focus.and_then(<[PlaceStep]>::first);
        let rest = focus.and_then(|focus| focus.get(1..));
        let is_varied = |name: &str| match step {
            Some(PlaceStep::Member(member)) => member == name,
            Some(PlaceStep::OtherMembers | PlaceStep::Items) => false,
            None => true,
        };
        let mut samples: Vec<(&str, Vec<Value>)> = Vec::new();
        for name in required.union(&named) {
            let below = if is_varied(name) { focus.and(rest.or(Some(&[]))) } else { Some([].as_slice()) };
            let is_needed = required.contains(name) || is_varied(name) || depth < 2;
            let values = if is_needed { self.of(&of_member(known, name), depth + 1, below) } else { Vec::new() };
            samples.push((name, values));
        }
        let first = |required_only: bool| -> Map<String, Value> {
            let mut made = Map::new();
            for (name, values) in &samples {
                if let (true, Some(value)) = (!required_only || required.contains(name), values.first()) {
                    made.insert((*name).to_owned(), value.clone());
                }
            }
            made
        };
        let (least, most) = (first(true), first(false));
        let mut made = vec![Value::Object(least.clone()), Value::Object(most.clone())];
        for (name, values) in samples.iter().filter(|(name, _)| is_varied(name)) {
            for value in values {
                for base in [&least, &most] {
                    let mut object = base.clone();
                    object.insert((*name).to_owned(), value.clone());
                    made.push(Value::Object(object));
                }
            }
            let mut without = most.clone();
            without.remove(*name);
            made.push(Value::Object(without));
        }
        if step.is_none() || step == Some(&PlaceStep::OtherMembers) {
            let others: Vec<SchemaAt<'_>> =
                known.parts.iter().filter_map(|part| part.below("additionalProperties")).collect();
            let mut values = self.of(&Known::new(others, false), depth + 1, Some(&[]));
            values.truncate(6);
            let unnamed =
                self.pool.names.iter().filter(|name| !named.contains(name.as_str())).take(6).map(String::as_str);
            for (pattern, schema) in known.parts.iter().flat_map(|part| part.named("patternProperties")) {
                let below = self.of(&Known::new([schema], false), depth + 1, Some(&[]));
                for (name, value) in by_pattern(pattern)
                    .into_iter()
                    .flat_map(|name| below.iter().map(move |value| (name.clone(), value)))
                {
                    let mut object = least.clone();
                    object.insert(name, value.clone());
                    made.push(Value::Object(object));
                }
            }
            for name in unnamed.chain(["unnamed"]) {
                for value in &values {
                    let mut object = least.clone();
                    object.insert(name.to_owned(), value.clone());
                    made.push(Value::Object(object));
                }
            }
            for size in self.pool.sizes.iter().filter(|size| **size > least.len() && **size <= MAX_ITEMS) {
                let mut object = least.clone();
                for number in 0..*size - least.len() {
                    object.insert(format!("more_{number}"), values.first().cloned().unwrap_or_default());
                }
                made.push(Value::Object(object));
            }
        }
        made
    }

    fn arrays(&mut self, known: &Known<'_>, depth: usize, focus: Option<&[PlaceStep]>) -> Vec<Value> {
        let step = focus.and_then(<[PlaceStep]>::first);
        let is_varied = step.is_none() || step == Some(&PlaceStep::Items);
        let rest = focus.and_then(|focus| focus.get(1..));
        let below = if is_varied { focus.and(rest.or(Some(&[]))) } else { Some([].as_slice()) };
        let first: Vec<SchemaAt<'_>> = known.parts.iter().filter_map(|part| part.list("prefixItems").next()).collect();
        let items: Vec<SchemaAt<'_>> = known.parts.iter().filter_map(|part| part.below("items")).collect();
        let prefix: Vec<Value> = {
            let longest = known.parts.iter().max_by_key(|part| part.list("prefixItems").count());
            let places: Vec<SchemaAt<'_>> = longest.into_iter().flat_map(|part| part.list("prefixItems")).collect();
            let mut made = Vec::new();
            for place in places {
                made.extend(self.of(&Known::new([place], false), depth + 1, Some(&[])).into_iter().next());
            }
            made
        };
        let samples = self.of(&Known::new(items, false), depth + 1, below);
        let filled = |length: usize| -> Value {
            let more = samples.iter().cycle().take(if samples.is_empty() { 0 } else { length });
            prefix.iter().cloned().chain(more.cloned()).take(length.min(MAX_ITEMS)).collect()
        };
        let least = known.said("minItems").filter_map(Value::as_u64).max().unwrap_or_default();
        let least = usize::try_from(least).unwrap_or(MAX_ITEMS).min(MAX_ITEMS);
        let mut made: Vec<Value> =
            vec![filled(least), filled(prefix.len()), filled(least + 1), filled(prefix.len() + 1)];
        if is_varied {
            for value in &samples {
                let mut array = vec![value.clone()];
                array.extend(samples.iter().cycle().take(least.saturating_sub(1)).cloned());
                made.push(Value::Array(array));
            }
            if !first.is_empty() {
                for value in self.of(&Known::new(first, false), depth + 1, below) {
                    let more = prefix.iter().skip(1).cloned();
                    made.push(std::iter::once(value).chain(more).collect());
                }
            }
            made.extend(self.pool.sizes.iter().filter(|size| **size <= MAX_ITEMS).map(|size| filled(*size)));
            if let Some(value) = samples.first() {
                made.push(json!([value, value]));
            }
        }
        made
    }
}

/// What is known of one member: what names it, or what speaks of all others.
fn of_member<'s>(known: &Known<'s>, name: &str) -> Known<'s> {
    let schemas = known.parts.iter().filter_map(|part| {
        part.property(name).or_else(|| part.below("additionalProperties").filter(|_| part.get("properties").is_some()))
    });
    Known::new(schemas.collect::<Vec<_>>(), false)
}

/// At most so many of them, taken in turns from each list.
fn interleaved(lists: Vec<Vec<Value>>, max: usize) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    loop {
        let mut is_over = true;
        for value in lists.iter_mut().filter_map(Iterator::next) {
            is_over = false;
            if kept.len() < max && !kept.contains(&value) {
                kept.push(value);
            }
        }
        if is_over || kept.len() == max {
            return kept;
        }
    }
}
