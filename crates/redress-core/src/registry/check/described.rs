//! What a schema says of one place in a value.

use std::collections::BTreeSet;

use redress_contract::Schema;
use serde_json::Value;

/// What a schema says of one place in a value.
pub(super) struct Described<'a> {
    /// Each schema that may hold for what stands there; none where the schema does not speak of the place.
    pub(super) schemas: Vec<&'a Value>,
    /// Whether something stands there in every value.
    always: bool,
}

impl Described<'_> {
    /// Whether every value has something there that is not null.
    pub(super) fn is_certain(&self) -> bool {
        let never_null = |schema: &&Value| match schema.get("type") {
            Some(Value::String(one)) => one != "null",
            Some(Value::Array(many)) => many.iter().all(|one| one != "null"),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
        };
        self.always && self.schemas.iter().all(never_null)
    }
}

/// What `schema`, which is bundled, says of the RFC 6901 `pointer`.
pub(super) fn described<'a>(schema: &'a Schema, pointer: &str) -> Described<'a> {
    let mut found = Described { schemas: Vec::new(), always: true };
    let mut segments = pointer.split('/');
    if segments.next() != Some("") || pointer.is_empty() {
        return found;
    }
    let segments: Vec<String> = segments.map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
    let mut walk = DescribedWalk { root: schema, segments: &segments, met: BTreeSet::new(), found: &mut found };
    walk.at(schema.as_value(), 0);
    found
}

struct DescribedWalk<'a, 'w> {
    root: &'a Schema,
    segments: &'w [String],
    /// Where it has been, and with how much of the way behind it: references may lead in a circle.
    met: BTreeSet<(*const Value, usize)>,
    found: &'w mut Described<'a>,
}

impl<'a> DescribedWalk<'a, '_> {
    fn at(&mut self, schema: &'a Value, depth: usize) {
        if !self.met.insert((std::ptr::from_ref(schema), depth)) {
            return;
        }
        if let Some(referred) = schema.get("$ref").and_then(Value::as_str).and_then(|to| self.root.referred(to)) {
            return self.at(referred, depth);
        }
        let Some(segment) = self.segments.get(depth) else { return self.found.schemas.push(schema) };
        if let Some(member) = schema.get("properties").and_then(|members| members.get(segment)) {
            let required = schema.get("required").and_then(Value::as_array);
            self.found.always &= required.is_some_and(|names| names.iter().any(|name| name == segment));
            return self.at(member, depth + 1);
        }
        // Of several shapes, one may lack the place; an array may be shorter.
        for keyword in ["oneOf", "anyOf"] {
            for each in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.found.always = false;
                self.at(each, depth);
            }
        }
        for each in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.at(each, depth);
        }
        if let (Some(items), Ok(_)) = (schema.get("items"), segment.parse::<usize>()) {
            self.found.always = false;
            self.at(items, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_found_through_members_items_references_and_alternatives() {
        let schema = Schema::new(json!({
            "$defs": {
                "file": {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]},
                "loop": {"$ref": "#/$defs/loop"},
            },
            "type": "object",
            "properties": {
                "file": {"$ref": "#/$defs/file"},
                "state": {"type": "string", "enum": ["open", "paid"]},
                "note": {"type": ["string", "null"]},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/file"}},
                "either": {"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "null"}}}]},
                "loop": {"$ref": "#/$defs/loop"},
            },
            "required": ["file", "note", "parts"],
        }));
        let rows = [
            ("/file/size", 1, true),
            ("/state", 1, false),
            ("/note", 1, false),
            ("/parts/0/size", 1, false),
            ("/parts/first/size", 0, false),
            ("/either/a", 2, false),
            ("/loop/a", 0, false),
            ("/files", 0, false),
            ("/state/a", 0, false),
            ("file", 0, false),
            ("", 0, false),
        ];
        for (pointer, count, certain) in rows {
            let found = described(&schema, pointer);
            assert_eq!(found.schemas.len(), count, "{pointer}");
            assert_eq!(count > 0 && found.is_certain(), certain, "{pointer}");
        }
    }
}
