//! The JSON of a token: an object in UTF-8, in which no member is there twice.
//!
//! A member that is there twice means one thing to us and may mean another to whoever made or passed the token, so
//! neither is believed (RFC 7515, section 4; RFC 7519, section 4).

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// The object in one part of a token, if it holds one.
pub(super) fn object(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    // The whole text is judged: a reader of bytes skips over what nobody asks for, whatever is in it.
    match serde_json::from_str(str::from_utf8(&bytes).ok()?) {
        Ok(Unique(Value::Object(object))) => Some(object),
        Ok(Unique(_)) | Err(_) => None,
    }
}

/// A value in which every object has each member once.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(ObjectVisitor).map(Unique)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON in which no member is there twice")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = sequence.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, Unique(value))) = map.next_entry::<String, Unique>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a member is there twice"));
            }
        }
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Map<String, Value>> {
        object(&URL_SAFE_NO_PAD.encode(bytes))
    }

    #[test]
    fn an_object_is_read_as_it_is() {
        let text = r#"{"a": [1, -2, 0.5, null, true, "é"], "b": {"c": {}, "d": []}, "e": 18446744073709551615}"#;
        assert_eq!(read(text.as_bytes()), serde_json::from_str(text).unwrap());
    }

    #[test]
    fn what_is_no_object_in_utf_8_with_each_member_once_is_nothing() {
        for bytes in [
            &b"{\"alg\": \"HS256\", \"tit\": \"J\xff\xff\xff\xff\xff\xffWT\"}"[..],
            b"{\"alg\": \"HS256\", \"\xff\": 1}",
            b"[\"HS256\"]",
            b"\"HS256\"",
            b"null",
            b"",
            b"{} {}",
            br#"{"sub": "ada", "sub": "bob"}"#,
            br#"{"sub": "ada", "s\u0075b": "ada"}"#,
            br#"{"realm": {"roles": [], "roles": ["admin"]}}"#,
            br#"{"groups": [{"a": 1, "a": 1}]}"#,
        ] {
            assert_eq!(read(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(object("e30="), None, "padding is no part of it");
    }
}
