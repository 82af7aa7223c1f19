//! Numbers that are the same once they were read and written again.
//!
//! A number with more digits than a double holds comes back with other ones, and once a document is read
//! nobody knows how a real number was written.

use serde_json::{Number, Value};

/// Whether the number written as `text` is written the same again.
pub(super) fn read_exactly(text: &str) -> Option<Number> {
    serde_json::from_str::<Number>(text).ok().filter(|number| number.to_string() == text)
}

/// Whether every number of a JSON document survives.
pub(super) fn survive(document: &[u8]) -> bool {
    let mut rest = document;
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'"' => after_string(after),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                let (number, after) = rest.split_at(length);
                if std::str::from_utf8(number).ok().and_then(read_exactly).is_none() {
                    return false;
                }
                after
            }
            _ => after,
        };
    }
    true
}

/// What comes after a string whose first quote was read.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some((byte, after)) = rest.split_first() {
        rest = match byte {
            b'"' => return after,
            b'\\' => after.get(1..).unwrap_or_default(),
            _ => after,
        };
    }
    rest
}

/// Whether a value holds a number that is no integer of 64 bits.
pub(super) fn has_real(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_real),
        Value::Object(members) => members.values().any(has_real),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_survives_if_it_is_written_the_same_again() {
        for (document, expected) in [
            (r#"{"a": [1, -5, 0.5, 18446744073709551615]}"#, true),
            (r#"{"a \" 1e9 \\": "12345678901234567890123", "b": 1}"#, true),
            ("12345678901234567890123", false),
            (r#"["\\", 0.1000000000000000055]"#, false),
            ("[1e2]", false),
            ("[1.50]", false),
        ] {
            assert_eq!(survive(document.as_bytes()), expected, "{document}");
        }
    }
}
