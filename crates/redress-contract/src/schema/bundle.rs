//! One form for every schema: it stands on its own, and each of its references is a pointer into it.
//!
//! A schema may name its parts by `$id` and `$anchor`, refer to them by URIs that are relative to the nearest
//! `$id`, and leave it to the way to a `$dynamicRef` where that leads. Few readers know all of that, and none
//! of it survives a move into another document. So the names are resolved once, here, and everything that is
//! made from a declaration is made from what comes out.
//!
//! Parts stay where they stand. Two kinds of them are copied to `$defs`: what is evaluated in another scope of
//! dynamic references than the one where it stands, and what a reference leads to although it stands in a
//! place for data.
//!
//! Why so: docs/decisions/0055-one-bundler.md.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    BundleError, Holds, keyword,
    locate::{Led, RefTarget, SubschemaIndex, address},
    pointer,
};

/// How deep a schema may nest.
const MAX_DEPTH: usize = 128;
/// How many parts may be copied. Without dynamic references there are hardly any.
const MAX_COPIED: usize = 10_000;
/// How many scopes dynamic references may have.
const MAX_SCOPES: usize = 1_000;

/// Keywords that are names and references, or that bind what stands beside them to a dialect.
const NAMES: [&str; 6] = ["$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "$id", "$schema"];

/// Whether a schema has neither names nor references, and so is bundled as it is. Most schemas that are imported have
/// none, because whoever cut them has put everything in its place.
pub(super) fn stands_alone(schema: &Value) -> bool {
    let mut left = vec![(schema, 0)];
    while let Some((schema, depth)) = left.pop() {
        let Value::Object(keywords) = schema else { continue };
        // One that is too deep is told apart where it is followed.
        if depth == MAX_DEPTH || NAMES.iter().any(|name| keywords.contains_key(*name)) {
            return false;
        }
        keyword::below(keywords, |_, _, schema| left.push((schema, depth + 1)));
    }
    true
}

/// The schema, bundled.
pub(super) fn bundled(schema: &Value) -> Result<Value, BundleError> {
    let Value::Object(_) = schema else { return Ok(schema.clone()) };
    let places = SubschemaIndex::of(schema)?;
    let (resource, scope) = places.place(schema).map_or((0, 0), |place| (place.resource, place.scope));
    let taken = schema.get("$defs").and_then(Value::as_object);
    let taken = taken.into_iter().flat_map(Map::keys).cloned().collect();
    let mut bundler = Bundler {
        places,
        root: (address(schema), resource),
        names: HashMap::new(),
        taken,
        numbers: HashMap::new(),
        left: Vec::new(),
        copied: 0,
    };
    let mut made = bundler.schema(BundleCursor { resource, scope, depth: 0, is_copy: false }, schema)?;
    let mut copies = Map::new();
    while let Some((name, target, scope)) = bundler.left.pop() {
        let at = BundleCursor { resource: target.resource, scope, depth: 0, is_copy: true };
        copies.insert(name, bundler.schema(at, target.schema)?);
    }
    if !copies.is_empty()
        && let Value::Object(keywords) = &mut made
        && let Value::Object(definitions) = keywords.entry("$defs").or_insert_with(|| Value::Object(Map::new()))
    {
        definitions.extend(copies);
    }
    Ok(made)
}

struct Bundler<'s> {
    places: SubschemaIndex<'s>,
    /// The whole schema, and its resource.
    root: (usize, usize),
    /// The names of the copies, by what was copied and the scope.
    names: HashMap<(usize, usize), String>,
    taken: HashSet<String>,
    /// The number that the next copy of a name gets.
    numbers: HashMap<String, usize>,
    /// The copies that are still to be made.
    left: Vec<(String, RefTarget<'s>, usize)>,
    copied: usize,
}

/// Where in the schema, and in which scope.
#[derive(Clone, Copy)]
struct BundleCursor {
    resource: usize,
    scope: usize,
    depth: usize,
    is_copy: bool,
}

impl<'s> Bundler<'s> {
    fn schema(&mut self, mut at: BundleCursor, schema: &'s Value) -> Result<Value, BundleError> {
        let Value::Object(keywords) = schema else { return Ok(schema.clone()) };
        if at.depth == MAX_DEPTH {
            return Err(BundleError::TooDeep { max: MAX_DEPTH });
        }
        at.depth += 1;
        if let Some(resource) = self.places.place(schema).map(|place| place.resource)
            && (resource != at.resource || at.depth == 1)
        {
            at.resource = resource;
            at.scope = self.places.enter(at.scope, resource);
        }
        if at.is_copy {
            self.copied += 1;
            if self.copied > MAX_COPIED {
                return Err(BundleError::TooLarge { max: MAX_COPIED });
            }
        }
        let is_root = address(schema) == self.root.0 && !at.is_copy;
        let mut made = Map::new();
        let mut reference = None;
        let mut dynamic = None;
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("$anchor" | "$dynamicAnchor", _) => {}
                ("$id" | "$schema", _) if !is_root => {}
                // What a copy refers to has a place or a copy of its own.
                ("$defs" | "definitions", _) if at.is_copy => {}
                ("$ref", Value::String(text)) => reference = Some(self.reference(at, text)?),
                ("$dynamicRef", Value::String(text)) => dynamic = Some(self.dynamic(at, text)?),
                _ => {
                    made.insert(keyword.clone(), self.value(at, keyword, value)?);
                }
            }
        }
        match (reference, dynamic) {
            (Some(one), None) | (None, Some(one)) => {
                made.insert("$ref".into(), Value::String(one));
            }
            (Some(one), Some(other)) => {
                made.insert("$ref".into(), Value::String(one));
                let other = Value::Object(Map::from_iter([("$ref".to_owned(), Value::String(other))]));
                if let Value::Array(all) = made.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
                    all.push(other);
                }
            }
            (None, None) => {}
        }
        Ok(Value::Object(made))
    }

    fn value(&mut self, at: BundleCursor, keyword: &str, value: &'s Value) -> Result<Value, BundleError> {
        match (Holds::by(keyword), value) {
            (Holds::Schema, _) => self.schema(at, value),
            (Holds::List, Value::Array(schemas)) => {
                let schemas = schemas.iter().map(|schema| self.schema(at, schema));
                Ok(Value::Array(schemas.collect::<Result<_, _>>()?))
            }
            (Holds::Named, Value::Object(named)) => {
                let named = named.iter().map(|(name, schema)| Ok((name.clone(), self.schema(at, schema)?)));
                Ok(Value::Object(named.collect::<Result<_, BundleError>>()?))
            }
            (Holds::List | Holds::Named | Holds::Data, _) => Ok(value.clone()),
        }
    }

    fn reference(&mut self, at: BundleCursor, reference: &str) -> Result<String, BundleError> {
        let target = match self.places.find(at.resource, reference)? {
            Led::Inside(target) => target,
            Led::Outside(uri) => return Ok(uri),
        };
        let (name, is_here) = self.leads_to(at, target)?;
        let is_said_so = at.resource == self.root.1 && (reference == "#" || reference.starts_with("#/"));
        Ok(if is_here && is_said_so { reference.to_owned() } else { name })
    }

    fn dynamic(&mut self, at: BundleCursor, reference: &str) -> Result<String, BundleError> {
        match self.places.find_dynamic(at.resource, at.scope, reference)? {
            Led::Inside(target) => Ok(self.leads_to(at, target)?.0),
            Led::Outside(uri) => Ok(uri),
        }
    }

    /// The reference to `target`, and whether that is where it stands.
    fn leads_to(&mut self, at: BundleCursor, target: RefTarget<'s>) -> Result<(String, bool), BundleError> {
        let scope = self.places.enter(at.scope, target.resource);
        if self.places.scopes() > MAX_SCOPES {
            return Err(BundleError::TooLarge { max: MAX_SCOPES });
        }
        if self.places.place(target.schema).is_some_and(|place| place.scope == scope) {
            let pointer = self.places.pointer(target.schema).unwrap_or_default();
            return Ok((format!("#{}", pointer::encoded(&pointer)), true));
        }
        let key = (address(target.schema), scope);
        if let Some(name) = self.names.get(&key) {
            return Ok((format!("#/$defs/{name}"), false));
        }
        let name = self.name(target.schema);
        self.names.insert(key, name.clone());
        let reference = format!("#/$defs/{name}");
        self.left.push((name, target, scope));
        Ok((reference, false))
    }

    /// A name for a copy that nothing else has, of letters that need no escaping anywhere.
    fn name(&mut self, schema: &Value) -> String {
        let pointer = self.places.pointer(schema).unwrap_or_default();
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let plain: String =
            last.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')).take(64).collect();
        let plain = if plain.is_empty() { "schema".to_owned() } else { plain };
        let number = self.numbers.entry(plain.clone()).or_insert(1);
        loop {
            let name = if *number == 1 { plain.clone() } else { format!("{plain}_{number}") };
            *number += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn assert_bundled(schema: Value, expected: Value) {
        let made = bundled(&schema).unwrap();
        assert_eq!(made, expected);
        assert!(!stands_alone(&schema) || made == schema, "{schema}");
        assert_eq!(bundled(&made).unwrap(), made, "bundled again it is the same");
    }

    #[test]
    fn plain_references_stay_as_they_are_written() {
        for schema in [
            json!(true),
            json!({"type": "object", "properties": {"kids": {"items": {"$ref": "#"}}}}),
            json!({"$id": "https://x.test/a", "$defs": {"Tree node": {"items": {"$ref": "#/$defs/Tree%20node"}}}}),
            json!({"$defs": {"unused": {"type": "string"}}, "$ref": "#/properties/a", "properties": {"a": {"$ref": "#/$defs/unused", "minLength": 1}}}),
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        ] {
            assert_bundled(schema.clone(), schema);
        }
    }

    #[test]
    fn a_schema_stands_alone_where_no_part_of_it_has_a_name_or_refers_to_one() {
        for alone in [
            json!(true),
            json!({"properties": {"$ref": {"type": "string"}, "$id": {"items": {"not": {}}}}}),
            json!({"default": {"$ref": "#"}, "enum": [{"$id": "a"}], "examples": [{"$anchor": "b"}]}),
        ] {
            assert!(stands_alone(&alone), "{alone}");
            assert_bundled(alone.clone(), alone);
        }
        for name in NAMES {
            for schema in [json!({name: "#"}), json!({"items": {"anyOf": [{"properties": {"a": {name: "#"}}}]}})] {
                assert!(!stands_alone(&schema), "{schema}");
            }
        }
        let mut deep = json!({});
        for _ in 0..MAX_DEPTH {
            deep = json!({"not": deep});
        }
        assert!(!stands_alone(&deep) && bundled(&deep).is_err());
        assert!(stands_alone(&deep["not"]) && bundled(&deep["not"]).is_ok());
    }

    #[test]
    fn every_name_becomes_a_pointer() {
        assert_bundled(
            json!({
                "$id": "https://x.test/order.json",
                "$defs": {
                    "an a": {"$anchor": "a", "type": "integer"},
                    "b": {"$id": "parts/b.json", "$defs": {"c": {"$anchor": "a", "type": "string"}}, "$ref": "#/$defs/c"},
                    "u": {"$id": "urn:x:u", "type": "null"},
                },
                "properties": {
                    "a": {"$ref": "#a", "minimum": 3},
                    "b": {"$ref": "/parts/b.json"},
                    "c": {"$ref": "parts/b.json#a"},
                    "d": {"$ref": "urn:x:u"},
                    "e": {"$ref": "https://x.test/order.json#/properties/a"},
                    "f": {"$ref": "order.json"},
                },
            }),
            json!({
                "$id": "https://x.test/order.json",
                "$defs": {
                    "an a": {"type": "integer"},
                    "b": {"$defs": {"c": {"type": "string"}}, "$ref": "#/$defs/b/$defs/c"},
                    "u": {"type": "null"},
                },
                "properties": {
                    "a": {"$ref": "#/$defs/an%20a", "minimum": 3},
                    "b": {"$ref": "#/$defs/b"},
                    "c": {"$ref": "#/$defs/b/$defs/c"},
                    "d": {"$ref": "#/$defs/u"},
                    "e": {"$ref": "#/properties/a"},
                    "f": {"$ref": "#"},
                },
            }),
        );
    }

    #[test]
    fn a_member_may_have_the_name_of_a_keyword_and_data_may_look_like_a_schema() {
        let names =
            ["definitions", "$defs", "default", "enum", "const", "$ref", "$id", "$anchor", "properties", "$dynamicRef"];
        let members: Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({"$ref": "#/$defs/N"}))).collect();
        let schema = json!({
            "$defs": {"N": {"type": "integer"}},
            "properties": members,
            "default": {"$ref": "nowhere", "$anchor": "x"},
            "enum": [{"$id": "https://x.test/", "$dynamicRef": "#y"}],
            "examples": [{"$ref": "#/nowhere"}],
            "x-own": {"$ref": "#/nowhere"},
        });
        assert_bundled(schema.clone(), schema);
    }

    #[test]
    fn what_a_dynamic_reference_means_is_written_out_for_each_way_to_it() {
        let list = json!({
            "$id": "list",
            "$dynamicAnchor": "list",
            "type": "array",
            "items": {"$dynamicRef": "#item"},
            "$defs": {"any": {"$dynamicAnchor": "item"}},
        });
        let of = |kind: &str| json!({"$id": kind, "$ref": "list", "$defs": {"item": {"$dynamicAnchor": "item", "type": kind}}});
        let schema = json!({
            "$id": "https://x.test/root",
            "properties": {"a": {"$ref": "string"}, "b": {"$ref": "integer"}, "c": {"$ref": "list"}},
            "$defs": {"s": of("string"), "i": of("integer"), "l": list},
        });
        let made = bundled(&schema).unwrap();
        let of = |member: &str| {
            let bundled = crate::Schema::new(made.clone());
            let mut schema = bundled.as_value().pointer(&format!("/properties/{member}")).unwrap();
            while let Some(next) = schema.get("$ref").and_then(Value::as_str) {
                schema = bundled.referred(next).unwrap();
            }
            bundled.referred(schema["items"]["$ref"].as_str().unwrap()).unwrap().clone()
        };
        assert_eq!((of("a"), of("b"), of("c")), (json!({"type": "string"}), json!({"type": "integer"}), json!({})));
        assert!(!made.to_string().contains("dynamic"), "{made}");
    }

    #[test]
    fn a_reference_into_data_gets_a_copy() {
        assert_bundled(
            json!({"x-parts": {"a b": {"$ref": "#/x-parts/c"}, "c": {"type": "integer"}}, "$defs": {"ab": true}, "$ref": "#/x-parts/a%20b"}),
            json!({
                "x-parts": {"a b": {"$ref": "#/x-parts/c"}, "c": {"type": "integer"}},
                "$defs": {"ab": true, "schema": {"$ref": "#/$defs/schema_2"}, "schema_2": {"type": "integer"}},
                "$ref": "#/$defs/schema",
            }),
        );
    }

    #[test]
    fn two_references_in_one_place_hold_both() {
        assert_bundled(
            json!({"$defs": {"a": {"$dynamicAnchor": "a"}, "b": {}}, "$ref": "#/$defs/b", "$dynamicRef": "#a"}),
            json!({"$defs": {"a": {}, "b": {}}, "$ref": "#/$defs/b", "allOf": [{"$ref": "#/$defs/a"}]}),
        );
    }

    #[test]
    fn what_cannot_keep_its_meaning_is_refused_with_the_reason() {
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({"not": deep});
        }
        let says = |schema: Value| bundled(&schema).unwrap_err().to_string();
        for (schema, part) in [
            (json!({"$ref": "#/$defs/a"}), "`#/$defs/a` cannot be resolved"),
            (json!({"$ref": "#a"}), "`#a` cannot be resolved"),
            (json!({"$ref": "https://x.test/a"}), "`https://x.test/a` cannot be resolved"),
            (json!({"$ref": "a b"}), "`a b` cannot be resolved"),
            (json!({"$ref": "#/%zz"}), "cannot be resolved"),
            (
                json!({"$defs": {"a": {"$anchor": "n"}, "b": {"$anchor": "n"}}}),
                "two parts of the schema are called `#n`",
            ),
            (
                json!({"$defs": {"a": {"$id": "urn:a"}, "b": {"$id": "urn:a"}}}),
                "two parts of the schema are called `urn:a`",
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
                "the dialect `http://json-schema.org/draft-07",
            ),
            (json!({"properties": {"a": {"$schema": "urn:own", "$id": "urn:a"}}}), "the dialect `urn:own`"),
            (
                json!({"$dynamicAnchor": "meta", "$ref": "https://json-schema.org/draft/2020-12/schema"}),
                "extends the metaschema",
            ),
            (deep, "nests deeper than 128 levels"),
        ] {
            let said = says(schema.clone());
            assert!(said.contains(part), "{schema}: {said}");
        }
    }

    #[test]
    fn dynamic_references_cannot_grow_a_schema_without_end() {
        // Each resource binds a name or not, by which of the two ways it is come to, so there are two scopes
        // to the power of the resources.
        let links = 24;
        let mut definitions = Map::new();
        for n in 0..links {
            let next = format!("n{}", n + 1);
            definitions.insert(
                format!("a{n}"),
                json!({"$id": format!("a{n}"), "$ref": next, "$defs": {"d": {"$dynamicAnchor": format!("d{n}")}}}),
            );
            definitions.insert(
                format!("n{n}"),
                json!({"$id": format!("n{n}"), "anyOf": [{"$ref": next}, {"$ref": format!("a{n}")}]}),
            );
        }
        definitions.insert("end".into(), json!({"$id": format!("n{links}")}));
        let schema = json!({"$id": "https://x.test/", "$ref": "n0", "$defs": definitions});
        assert!(matches!(bundled(&schema), Err(BundleError::TooLarge { .. })));
    }

    #[test]
    fn copies_of_what_holds_one_another_cannot_grow_a_schema_without_end() {
        let levels = 20;
        let mut parts = json!({"allOf": vec![json!({"type": "integer"}); 1_000]});
        let mut all = Vec::new();
        for n in 0..levels {
            parts = json!({"not": parts});
            all.push(json!({"$ref": format!("#/x-parts{}", "/not".repeat(n))}));
        }
        let schema = json!({"x-parts": parts, "anyOf": all});
        assert!(matches!(bundled(&schema), Err(BundleError::TooLarge { max: MAX_COPIED })));
    }

    #[test]
    fn ten_thousand_references_are_followed_one_by_one() {
        let links = 10_000;
        let definitions: Map<String, Value> = (0..links)
            .map(|n| (format!("d{n}"), json!({"$anchor": format!("a{n}"), "$ref": format!("#a{}", (n + 1) % links)})))
            .collect();
        let made = bundled(&json!({"$ref": "#a0", "$defs": definitions})).unwrap();
        assert_eq!(made["$defs"]["d7"]["$ref"], "#/$defs/d8");
    }
}
