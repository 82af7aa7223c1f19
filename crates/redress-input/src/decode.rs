//! From bytes to an input.

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::duplicate_keys::twice;
use super::guide::Guide;
use super::shape::{InputCheck, InputShape};
use super::strict::Strict;

/// Why an input was not decoded. It holds nothing of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are no JSON document: syntax, encoding, depth, or something after its end.
    #[error("the input is not a JSON document")]
    NotJson,
    /// The document is not what the operation accepts.
    #[error("the input does not fit its schema")]
    Refused,
}

/// Decodes an input of type `T`. No bytes at all stand for `{}`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], shape: &InputShape) -> Result<T, DecodeError> {
    let bytes = document(bytes);
    let guide = match shape.check() {
        InputCheck::Plain => None,
        InputCheck::Guided(guide) => Some(guide),
        InputCheck::Validated => return decode_validated(bytes, shape),
    };
    let input = decode_strictly(bytes, guide)?;
    if shape.takes_twice() && twice(bytes).is_some() { Err(DecodeError::Refused) } else { Ok(input) }
}

/// Accepts an input that no type stands for.
pub fn accept(bytes: &[u8], shape: &InputShape) -> Result<Value, DecodeError> {
    let value = parse(bytes)?;
    if shape.is_valid(&value) && twice(bytes).is_none() { Ok(value) } else { Err(DecodeError::Refused) }
}

/// The document as a value.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, DecodeError> {
    serde_json::from_slice(document(bytes)).map_err(|_| DecodeError::NotJson)
}

/// The document to read: a call without arguments has an empty object for its input.
pub fn document(bytes: &[u8]) -> &[u8] {
    if bytes.trim_ascii().is_empty() { b"{}" } else { bytes }
}

fn decode_strictly<T: DeserializeOwned>(bytes: &[u8], guide: Option<&Guide>) -> Result<T, DecodeError> {
    // One look at the whole document costs less than one at each string in it.
    let text = std::str::from_utf8(bytes).map_err(|_| DecodeError::NotJson)?;
    let mut document = serde_json::Deserializer::from_str(text);
    let input = T::deserialize(Strict::new(&mut document, guide));
    match input {
        Ok(input) if document.end().is_ok() => Ok(input),
        Ok(_) | Err(_) => Err(refusal(bytes)),
    }
}

/// Tells a refused document from one that is no JSON. serde_json's own classification does not: it
/// calls a tuple with an item too many a syntax error.
#[cold]
fn refusal(bytes: &[u8]) -> DecodeError {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(_) => DecodeError::Refused,
        Err(_) => DecodeError::NotJson,
    }
}

fn decode_validated<T: DeserializeOwned>(bytes: &[u8], shape: &InputShape) -> Result<T, DecodeError> {
    let mut value = accept(bytes, shape)?;
    // The type is decoded from the bytes, because a value holds integers of 128 bits as doubles.
    if let Ok(input) = serde_json::from_slice(bytes) {
        return Ok(input);
    }
    // To a schema `1.0` is an integer, to a derived type it is not.
    if !write_integers_as_such(&mut value) {
        return Err(DecodeError::Refused);
    }
    let rewritten = serde_json::to_vec(&value).map_err(|_| DecodeError::Refused)?;
    serde_json::from_slice(&rewritten).map_err(|_| DecodeError::Refused)
}

/// Rewrites numbers such as `1.0` to `1`; says whether there were any.
fn write_integers_as_such(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(real) => match integer_of(real) {
                Some(integer) => {
                    *number = integer;
                    true
                }
                None => false,
            },
            None => false,
        },
        // Every part is visited, so this is a count and not an `any`.
        Value::Array(items) => {
            items.iter_mut().filter_map(|item| write_integers_as_such(item).then_some(())).count() > 0
        }
        Value::Object(fields) => {
            fields.values_mut().filter_map(|field| write_integers_as_such(field).then_some(())).count() > 0
        }
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn integer_of(real: f64) -> Option<Number> {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if real.fract() != 0.0 {
        return None;
    }
    if (-TWO_TO_63..TWO_TO_63).contains(&real) {
        return Some(Number::from(real as i64));
    }
    (TWO_TO_63..2.0 * TWO_TO_63).contains(&real).then(|| Number::from(real as u64))
}
