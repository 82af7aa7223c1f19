//! JSON that is already written.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::value::RawValue;

/// JSON that is already written, and is copied wherever it goes.
///
/// Unlike [`RawValue`] it keeps the buffer that it was written into: giving the rest of a
/// buffer back for each failure costs more than writing it.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// Writes `value`.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
        serde_json::to_string(value).map(Json)
    }

    /// Takes a text that is JSON because it was put together from JSON. That is looked at
    /// again only when the text becomes part of another value.
    pub fn from_written(text: String) -> Json {
        Json(text)
    }

    /// The text.
    pub fn get(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        <Box<RawValue>>::deserialize(deserializer).map(|raw| Json(raw.get().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_read_and_written_as_the_value_that_it_holds() {
        let value = json!({"a": [1, "ä"], "b": null});
        let written = Json::of(&value).unwrap();
        assert_eq!(serde_json::to_value(&written).unwrap(), value);
        assert_eq!(serde_json::from_value::<Json>(value).unwrap(), written);
        let spaced: Json = serde_json::from_str(r#" { "a" : 1 } "#).unwrap();
        assert_eq!(spaced.get(), r#"{ "a" : 1 }"#);
    }

    #[test]
    fn what_is_no_json_does_not_become_part_of_a_value() {
        assert!(serde_json::to_string(&Json::from_written("{".to_owned())).is_err());
    }
}
