//! Where a reference leads: pointers, anchors and the `$id`s of embedded resources.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The resources of a schema and what is named in them. Addresses stand for subschemas: the schema is
/// borrowed for as long as this is.
pub(super) struct Places<'s> {
    resources: Vec<Resource<'s>>,
    by_uri: HashMap<String, usize>,
    /// The resource that a subschema belongs to, for those outside the first.
    inside: HashMap<usize, usize>,
    /// How many dynamic anchors there are of each name.
    dynamic: HashMap<&'s str, usize>,
}

struct Resource<'s> {
    uri: String,
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
}

/// What a keyword holds, as far as subschemas go.
pub(super) enum Holds {
    Schema,
    List,
    Named,
    Nothing,
}

/// What `keyword` holds. Whatever is not listed is data, and a `$ref` in there is somebody's value.
pub(super) fn holds(keyword: &str) -> Holds {
    match keyword {
        "additionalProperties"
        | "contains"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Holds::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => {
            Holds::Named
        }
        _ => Holds::Nothing,
    }
}

pub(super) fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

impl<'s> Places<'s> {
    pub(super) fn of(schema: &'s Value) -> Self {
        let mut places =
            Self { resources: Vec::new(), by_uri: HashMap::new(), inside: HashMap::new(), dynamic: HashMap::new() };
        let first = places.open(String::new(), schema);
        let mut left = vec![(schema, first)];
        while let Some((schema, outer)) = left.pop() {
            let Value::Object(keywords) = schema else { continue };
            let resource = places.note(schema, keywords, outer);
            for (keyword, below) in keywords {
                match (holds(keyword), below) {
                    (Holds::Schema, _) => left.push((below, resource)),
                    (Holds::List, Value::Array(schemas)) => left.extend(schemas.iter().map(|below| (below, resource))),
                    (Holds::Named, Value::Object(named)) => left.extend(named.values().map(|below| (below, resource))),
                    (Holds::List | Holds::Named | Holds::Nothing, _) => {}
                }
            }
        }
        places
    }

    /// Notes the names of a subschema; the resource it belongs to.
    fn note(&mut self, schema: &'s Value, keywords: &'s Map<String, Value>, outer: usize) -> usize {
        let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
        let mut resource = outer;
        if let Some(id) = text("$id").filter(|id| !id.starts_with('#')) {
            let base = self.resources.get(outer).map_or("", |resource| resource.uri.as_str());
            resource = self.open(resolved(base, id.trim_end_matches('#')), schema);
        }
        if resource != 0 {
            self.inside.insert(address(schema), resource);
        }
        if let Some(dynamic) = text("$dynamicAnchor") {
            *self.dynamic.entry(dynamic).or_default() += 1;
        }
        if let Some(resource) = self.resources.get_mut(resource) {
            for anchor in [text("$anchor"), text("$dynamicAnchor")].into_iter().flatten() {
                resource.anchors.entry(anchor).or_insert(schema);
            }
        }
        resource
    }

    fn open(&mut self, uri: String, root: &'s Value) -> usize {
        let resource = self.resources.len();
        self.by_uri.entry(uri.clone()).or_insert(resource);
        self.resources.push(Resource { uri, root, anchors: HashMap::new() });
        resource
    }

    /// The subschema that a `$ref` within `around` leads to.
    pub(super) fn find(&self, around: &Value, reference: &str) -> Option<&'s Value> {
        let current = self.resources.get(self.inside.get(&address(around)).copied().unwrap_or(0))?;
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() {
            current
        } else {
            self.resources.get(*self.by_uri.get(&resolved(&current.uri, uri))?)?
        };
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            resource.root.pointer(&fragment)
        } else {
            resource.anchors.get(fragment.as_str()).copied()
        }
    }

    /// The subschema that a `$dynamicRef` leads to, where that does not depend on the way to it.
    pub(super) fn find_dynamic(&self, around: &Value, reference: &str) -> Option<&'s Value> {
        let (_, name) = reference.split_once('#')?;
        let several = self.dynamic.get(name).is_some_and(|count| *count > 1);
        if several { None } else { self.find(around, reference) }
    }
}

/// `reference` resolved against `base`, as far as the schemas of one document need it (RFC 3986, 5.2).
fn resolved(base: &str, reference: &str) -> String {
    let is_absolute = reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    let base = base.split_once(['?', '#']).map_or(base, |(base, _)| base);
    let Some((scheme, rest)) = base.split_once("://").filter(|_| !is_absolute) else {
        return reference.to_owned();
    };
    let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    let mut segments: Vec<&str> = Vec::new();
    if !reference.starts_with('/') {
        segments.extend(path.split('/').skip(1));
        segments.pop();
    }
    for segment in reference.trim_start_matches('/').split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    format!("{scheme}://{authority}/{}", segments.join("/"))
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_the_standard_says() {
        for (base, reference, expected) in [
            ("", "b.json", "b.json"),
            ("https://x.test/a.json", "b.json", "https://x.test/b.json"),
            ("https://x.test/d/a.json", "../b/c.json", "https://x.test/b/c.json"),
            ("https://x.test/d/a.json", "/b", "https://x.test/b"),
            ("https://x.test", "b", "https://x.test/b"),
            ("https://x.test/a", "urn:y", "urn:y"),
            ("urn:x", "urn:y", "urn:y"),
        ] {
            assert_eq!(resolved(base, reference), expected, "{base} {reference}");
        }
    }

    #[test]
    fn a_pointer_may_be_percent_encoded() {
        assert_eq!(percent_decoded("/$defs/Tree%20node").as_deref(), Some("/$defs/Tree node"));
        assert_eq!(percent_decoded("/a%2").as_deref(), None);
    }
}
