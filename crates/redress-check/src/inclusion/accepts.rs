//! Whether a schema takes one value, where that is plain. Only the proof uses it: a witness is judged by the validator.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{
    number::{integer, order},
    schema_at::SchemaAt,
    value_types::ValueTypes,
};

/// How deep is looked.
const MAX_DEPTH: usize = 32;

/// Keywords that are not judged here where the value has one of the types.
const NOT_JUDGED: [(ValueTypes, &[&str]); 3] = [
    (ValueTypes::STRING, &["pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"]),
    (
        ValueTypes::OBJECT,
        &["patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"],
    ),
    (ValueTypes::ARRAY, &["contains", "unevaluatedItems"]),
];

/// Whether `schema` takes `value`; none where it is not plain. A tolerant reader takes members that it does not know.
pub(crate) fn accepts(schema: SchemaAt<'_>, value: &Value, tolerant: bool, depth: usize) -> Option<bool> {
    let keywords = match schema.value {
        Value::Bool(yes) => return Some(*yes),
        Value::Object(keywords) => keywords,
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
    };
    if depth == MAX_DEPTH {
        return None;
    }
    let types = ValueTypes::of_value(value);
    let mut known = true;
    let mut verdict = |one: Option<bool>| match one {
        Some(true) => true,
        Some(false) => false,
        None => {
            known = false;
            true
        }
    };
    let again = |schema: SchemaAt<'_>, value: &Value| accepts(schema, value, tolerant, depth + 1);
    for (keyword, said) in keywords {
        let fine = match (keyword.as_str(), said) {
            ("$ref", _) => verdict(schema.referred().and_then(Result::ok).and_then(|schema| again(schema, value))),
            ("type", said) => types.within(ValueTypes::of_keyword(said)),
            ("enum", Value::Array(values)) => values.iter().any(|one| same(one, value)),
            ("const", one) => same(one, value),
            ("allOf", _) => schema.list("allOf").all(|part| verdict(again(part, value))),
            ("anyOf", _) => verdict(any(schema.list("anyOf").map(|part| again(part, value)))),
            ("oneOf", _) if tolerant => verdict(any(schema.list("oneOf").map(|part| again(part, value)))),
            ("oneOf", _) => verdict(one(schema.list("oneOf").map(|part| again(part, value)))),
            ("not", _) => verdict(schema.below("not").and_then(|not| again(not, value)).map(|yes| !yes)),
            ("if", _) => verdict(None),
            (_, said) => verdict(of_type(keyword, said, schema, value, tolerant, &again)),
        };
        if !fine {
            return Some(false);
        }
    }
    let not_judged =
        NOT_JUDGED.iter().any(|(of, words)| types.within(*of) && words.iter().any(|word| keywords.contains_key(*word)));
    (known && !not_judged).then_some(true)
}

/// What a keyword for one type says of the value.
fn of_type(
    keyword: &str,
    said: &Value,
    schema: SchemaAt<'_>,
    value: &Value,
    tolerant: bool,
    again: &impl Fn(SchemaAt<'_>, &Value) -> Option<bool>,
) -> Option<bool> {
    match (value, keyword, said) {
        (Value::Number(number), "minimum", Value::Number(bound)) => Some(order(number, bound)? != Ordering::Less),
        (Value::Number(number), "exclusiveMinimum", Value::Number(bound)) => {
            Some(order(number, bound)? == Ordering::Greater)
        }
        (Value::Number(number), "maximum", Value::Number(bound)) => Some(order(number, bound)? != Ordering::Greater),
        (Value::Number(number), "exclusiveMaximum", Value::Number(bound)) => {
            Some(order(number, bound)? == Ordering::Less)
        }
        (Value::Number(number), "multipleOf", Value::Number(of)) => {
            let (number, of) = (integer(number)?, integer(of)?);
            (of != 0).then(|| number % of == 0)
        }
        (Value::String(text), "minLength", Value::Number(least)) => at_least(text.chars().count(), least),
        (Value::String(text), "maxLength", Value::Number(most)) => at_most(text.chars().count(), most),
        (Value::Array(items), "minItems", Value::Number(least)) => at_least(items.len(), least),
        (Value::Array(items), "maxItems", Value::Number(most)) => at_most(items.len(), most),
        (Value::Array(items), "uniqueItems", Value::Bool(true)) => {
            Some(items.iter().enumerate().all(|(at, one)| !items.iter().skip(at + 1).any(|two| same(one, two))))
        }
        (Value::Array(items), "prefixItems", _) => all(items
            .iter()
            .zip(schema.list("prefixItems").collect::<Vec<_>>())
            .map(|(item, schema)| again(schema, item))),
        (Value::Array(items), "items", said) => {
            let before = schema.list("prefixItems").count();
            all(items.iter().skip(before).map(|item| again(schema.with(said), item)))
        }
        (Value::Object(members), "minProperties", Value::Number(least)) => at_least(members.len(), least),
        (Value::Object(members), "maxProperties", Value::Number(most)) => at_most(members.len(), most),
        (Value::Object(members), "required", Value::Array(names)) => {
            Some(names.iter().filter_map(Value::as_str).all(|name| members.contains_key(name)))
        }
        (Value::Object(members), "properties", _) => {
            all(members.iter().filter_map(|(name, value)| Some(again(schema.property(name)?, value))))
        }
        (Value::Object(members), "additionalProperties", said) => {
            if tolerant && *said == Value::Bool(false) {
                return Some(true);
            }
            let others = members.iter().filter(|(name, _)| schema.property(name).is_none());
            all(others.map(|(_, value)| again(schema.with(said), value)))
        }
        _ => Some(true),
    }
}

fn at_least(count: usize, least: &Number) -> Option<bool> {
    Some(order(&Number::from(count), least)? != Ordering::Less)
}

fn at_most(count: usize, most: &Number) -> Option<bool> {
    Some(order(&Number::from(count), most)? != Ordering::Greater)
}

/// Whether two values are one to JSON Schema, for which 1 and 1.0 are.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, one)| b.get(name).is_some_and(|other| same(one, other)))
        }
        (a, b) => a == b,
    }
}

fn all(mut verdicts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = true;
    let fine = verdicts.all(|one| {
        known &= one.is_some();
        one != Some(false)
    });
    if fine { known.then_some(true) } else { Some(false) }
}

fn any(mut verdicts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = true;
    let found = verdicts.any(|one| {
        known &= one.is_some();
        one == Some(true)
    });
    if found { Some(true) } else { known.then_some(false) }
}

fn one(verdicts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let all: Option<Vec<bool>> = verdicts.collect();
    Some(all?.into_iter().filter(|yes| *yes).count() == 1)
}
