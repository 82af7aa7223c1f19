//! A field that an object has twice.
//!
//! A schema never sees the first of the two, and whoever looked at the text before us (a proxy, a
//! signature, a log) may have seen only that one. A type refuses the fields that it knows by itself;
//! this finds the others: where there is no type, in a map, and for the explanation.

use std::{collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::decode::document;
use super::instance_path::push;

/// The place of the first field that stands twice in its object.
pub(super) fn twice(bytes: &[u8]) -> Option<String> {
    let mut found = Vec::new();
    let mut document = serde_json::Deserializer::from_slice(document(bytes));
    // The document is known to be JSON: the only error is the one that ends the search.
    let _ = UniqueFields { found: &mut found }.deserialize(&mut document);
    let mut place = String::new();
    found.iter().rev().for_each(|name| push(&mut place, name));
    (!found.is_empty()).then_some(place)
}

/// Reads a value of which every field stands once. The names on the way to one that stands twice are gathered on
/// the way out, the last first.
struct UniqueFields<'f> {
    found: &'f mut Vec<String>,
}

impl UniqueFields<'_> {
    /// Puts `step` in front of what was found below it.
    fn step(&mut self, step: String) {
        if !self.found.is_empty() {
            self.found.push(step);
        }
    }
}

impl<'de> DeserializeSeed<'de> for UniqueFields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        inner.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueFields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut names: HashSet<String> = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                self.found.push(name);
                return Err(A::Error::custom("a field stands twice"));
            }
            if let Err(error) = map.next_value_seed(UniqueFields { found: self.found }) {
                self.step(name);
                return Err(error);
            }
            names.insert(name);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0_usize;
        loop {
            match items.next_element_seed(UniqueFields { found: self.found }) {
                Ok(Some(())) => index += 1,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.step(index.to_string());
                    return Err(error);
                }
            }
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_stands_twice_is_found_wherever_it_is() {
        for (document, place) in [
            (r#"{"a":1,"a":1}"#, Some("/a")),
            (r#"{"a":1,"\u0061":2}"#, Some("/a")),
            (r#"[0,{"b":{"c/d":null,"c/d":null}}]"#, Some("/1/b/c~1d")),
            (r#"{"a":{"a":[{"a":1},{"a":2}]},"b":{}}"#, None),
            (r#"{"a":true,"b":"x","c":-1,"d":1.5,"e":null}"#, None),
            ("", None),
        ] {
            assert_eq!(twice(document.as_bytes()).as_deref(), place, "{document}");
        }
    }
}
