//! A JSON Schema, held as a value so that no schema library shows in the API.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

mod bundle;
mod keyword;
mod locate;
mod pointer;

pub use keyword::Holds;

/// The dialect of every schema here.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Why a schema cannot be made to stand on its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A reference leads nowhere, or out of the schema.
    #[error("the reference `{reference}` cannot be resolved within the schema")]
    Unresolved {
        /// The reference as it is written.
        reference: String,
    },
    /// Two parts have one name, so that it is not known which a reference means.
    #[error("two parts of the schema are called `{name}`")]
    Ambiguous {
        /// The anchor or the URI.
        name: String,
    },
    /// It is written in another dialect, in which the same keywords mean other things.
    #[error("the schema is written in the dialect `{dialect}`, and only draft 2020-12 is understood")]
    Dialect {
        /// What `$schema` says.
        dialect: String,
    },
    /// A dynamic anchor called `meta` changes what a metaschema of the standard means.
    #[error("the schema extends the metaschema `{reference}`, which cannot be written with plain references")]
    Metaschema {
        /// The reference as it is written.
        reference: String,
    },
    /// It nests deeper than is followed.
    #[error("the schema nests deeper than {max} levels")]
    TooDeep {
        /// The most levels.
        max: usize,
    },
    /// Its dynamic references stand for more schemas than are written out.
    #[error("the dynamic references of the schema stand for more than {max} schemas")]
    TooLarge {
        /// The most schemas.
        max: usize,
    },
}

impl BundleError {
    fn unresolved(reference: &str) -> BundleError {
        BundleError::Unresolved { reference: reference.to_owned() }
    }
}

/// A JSON Schema (draft 2020-12). A clone is the same schema and costs nothing: an imported one is held by its
/// operation, by the contract and by every face.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema(Arc<Value>);

impl Schema {
    /// The schema written in `value`.
    pub fn new(value: Value) -> Schema {
        Schema(Arc::new(value))
    }

    /// An object with no members.
    pub fn nothing() -> Schema {
        Schema::new(json!({"type": "object", "properties": {}, "additionalProperties": false}))
    }

    /// Any value at all.
    pub fn anything() -> Schema {
        Schema::new(Value::Bool(true))
    }

    /// The schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The schema as JSON, taken out.
    pub fn into_value(self) -> Value {
        Arc::unwrap_or_clone(self.0)
    }

    /// The same schema with nothing but plain references: each is a pointer from its root, or the URI of a
    /// metaschema of the standard. `$id`s below the root, anchors and dynamic references are resolved; what
    /// stands beside a reference stays there, and a value is accepted exactly where it was before.
    ///
    /// ```
    /// use redress_contract::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::new(json!({
    ///     "$defs": {"size": {"$anchor": "size", "type": "integer"}},
    ///     "properties": {"width": {"$ref": "#size", "minimum": 1}},
    /// }));
    /// assert_eq!(schema.bundled()?.as_value(), &json!({
    ///     "$defs": {"size": {"type": "integer"}},
    ///     "properties": {"width": {"$ref": "#/$defs/size", "minimum": 1}},
    /// }));
    /// # Ok::<(), redress_contract::BundleError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the meaning could not be kept.
    pub fn bundled(&self) -> Result<Schema, BundleError> {
        if bundle::stands_alone(&self.0) {
            return Ok(self.clone());
        }
        bundle::bundled(&self.0).map(Schema::new)
    }

    /// The schema as it stands in another document at `place`, a URI reference such as
    /// `#/components/schemas/order`. It has to be [bundled](Schema::bundled).
    pub fn moved(&self, place: &str) -> Value {
        let mut schema = Value::clone(&self.0);
        keyword::each_mut(&mut schema, |keywords| {
            if let Some(Value::String(reference)) = keywords.get_mut("$ref")
                && let Some(rest) = reference.strip_prefix('#')
            {
                *reference = format!("{place}{rest}");
            }
        });
        if let Value::Object(keywords) = &mut schema {
            keywords.remove("$id");
            keywords.remove("$schema");
        }
        schema
    }

    /// The keywords of every schema that it holds, its own included; the order is not told.
    pub fn parts(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let mut left = vec![&*self.0];
        std::iter::from_fn(move || {
            loop {
                if let Value::Object(keywords) = left.pop()? {
                    keyword::below(keywords, |_, _, schema| left.push(schema));
                    return Some(keywords);
                }
            }
        })
    }

    /// The reference of a [bundled](Schema::bundled) schema to its member `name`.
    pub fn reference_to_member(name: &str) -> String {
        let mut place = String::from("/properties");
        pointer::push(&mut place, name);
        format!("#{}", pointer::encoded(&place))
    }

    /// What a reference of a [bundled](Schema::bundled) schema leads to.
    pub fn referred(&self, reference: &str) -> Option<&Value> {
        let fragment = pointer::decoded(reference.strip_prefix('#')?)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return None;
        }
        pointer::segments(&fragment).try_fold(&*self.0, |schema, segment| pointer::step(schema, &segment))
    }

    /// The schema of one member of an object.
    pub fn property(&self, name: &str) -> Option<&Value> {
        self.0.get("properties")?.get(name)
    }

    /// The names of an object's members.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        self.0.get("properties").and_then(Value::as_object).into_iter().flat_map(|map| map.keys().map(String::as_str))
    }

    /// Whether an object must have the member `name`.
    pub fn requires(&self, name: &str) -> bool {
        self.required().any(|required| required == name)
    }

    /// The members an object must have.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.0.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether an object says that it has no other members than those that it names.
    pub fn is_closed(&self) -> bool {
        let says_no = |keyword| self.0.get(keyword) == Some(&Value::Bool(false));
        if says_no("additionalProperties") {
            // A pattern lets in members whose names nobody has written down.
            return !has_patterns(&self.0);
        }
        says_no("unevaluatedProperties") && self.names_members(&self.0, &mut BTreeSet::new())
    }

    /// Whether the only members that a part of the schema says anything of, itself or in its own parts, are those that
    /// it names. What it says something of in any other way is not left to `unevaluatedProperties`.
    fn names_members<'a>(&'a self, part: &'a Value, followed: &mut BTreeSet<&'a str>) -> bool {
        let Some(keywords) = part.as_object() else { return true };
        !has_patterns(part)
            && keywords.iter().all(|(keyword, value)| match keyword.as_str() {
                "additionalProperties" | "unevaluatedProperties" => *value == Value::Bool(false),
                "$ref" => match value.as_str() {
                    Some(reference) if followed.insert(reference) => {
                        self.referred(reference).is_some_and(|part| self.names_members(part, followed))
                    }
                    // It is looked at where it was met first.
                    Some(_) => true,
                    None => false,
                },
                "$dynamicRef" => false,
                "allOf" | "anyOf" | "oneOf" => {
                    value.as_array().is_none_or(|parts| parts.iter().all(|part| self.names_members(part, followed)))
                }
                "if" | "then" | "else" => self.names_members(value, followed),
                "dependentSchemas" => {
                    value.as_object().is_none_or(|parts| parts.values().all(|part| self.names_members(part, followed)))
                }
                _ => true,
            })
    }

    /// Whether a value may have something at the RFC 6901 `pointer`. Where the schema leaves
    /// that open, it may.
    ///
    /// ```
    /// use redress_contract::Schema;
    /// use serde_json::json;
    ///
    /// let schema = Schema::new(json!({
    ///     "properties": {"page": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    ///     "additionalProperties": false,
    /// }));
    /// assert!(schema.may_hold("/page/size"));
    /// assert!(!schema.may_hold("/page/size/unit") && !schema.may_hold("/pages"));
    /// ```
    pub fn may_hold(&self, pointer: &str) -> bool {
        let mut segments = pointer.split('/');
        segments.next() == Some("") && holds(&self.0, &mut segments)
    }
}

fn has_patterns(schema: &Value) -> bool {
    schema.get("patternProperties").and_then(Value::as_object).is_some_and(|patterns| !patterns.is_empty())
}

fn holds<'a>(schema: &Value, segments: &mut impl Iterator<Item = &'a str>) -> bool {
    let Some(segment) = segments.next() else { return true };
    let segment = segment.replace("~1", "/").replace("~0", "~");
    if let Some(member) = schema.get("properties").and_then(|members| members.get(&segment)) {
        return holds(member, segments);
    }
    if let (Some(items), Ok(_)) = (schema.get("items"), segment.parse::<usize>()) {
        return holds(items, segments);
    }
    let closed = ["additionalProperties", "unevaluatedProperties"];
    let closed = closed.into_iter().any(|keyword| schema.get(keyword) == Some(&Value::Bool(false)));
    let holds_others = match schema.get("type") {
        Some(Value::String(one)) => one == "object" || one == "array",
        Some(Value::Array(many)) => many.iter().any(|one| one == "object" || one == "array"),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => true,
    };
    holds_others && !closed
}

impl From<Value> for Schema {
    fn from(value: Value) -> Schema {
        Schema::new(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_closed_where_every_member_that_it_takes_has_a_name() {
        let source = json!({"source": {"type": "string"}});
        let part = |keyword: &str, part: Value| {
            let mut schema = json!({"type": "object", "unevaluatedProperties": false});
            schema[keyword] = part;
            schema
        };
        for closed in [
            json!({"properties": source, "additionalProperties": false}),
            json!({"properties": source, "patternProperties": {}, "additionalProperties": false}),
            part("allOf", json!([{"properties": source}, {"oneOf": [{"properties": source}, {"required": ["a"]}]}])),
            part("if", json!({"properties": source})),
            part("dependentSchemas", json!({"source": {"properties": source, "additionalProperties": false}})),
            json!({
                "$ref": "#/$defs/Run",
                "unevaluatedProperties": false,
                "$defs": {"Run": {"properties": source, "anyOf": [{"$ref": "#/$defs/Run"}, {"required": ["source"]}]}},
            }),
        ] {
            assert!(Schema::new(closed.clone()).is_closed(), "{closed}");
        }
        for open in [
            json!({"properties": source}),
            json!({"properties": source, "additionalProperties": {"type": "string"}}),
            json!({"properties": source, "patternProperties": {"^s": {}}, "additionalProperties": false}),
            part("patternProperties", json!({"": {}})),
            part("additionalProperties", json!(true)),
            part("allOf", json!([{"properties": source}, {"additionalProperties": {}}])),
            part("anyOf", json!([{"allOf": [{"patternProperties": {"^s": {}}}]}])),
            part("then", json!({"unevaluatedProperties": true})),
            part("dependentSchemas", json!({"source": {"additionalProperties": true}})),
            part("$ref", json!("#/$defs/Elsewhere")),
            part("$dynamicRef", json!("#run")),
            json!({
                "$ref": "#/$defs/Run",
                "unevaluatedProperties": false,
                "$defs": {"Run": {"additionalProperties": true}},
            }),
        ] {
            assert!(!Schema::new(open.clone()).is_closed(), "{open}");
        }
    }

    #[test]
    fn a_pointer_leads_somewhere_unless_the_schema_says_that_it_does_not() {
        let schema = Schema::new(json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "a/b~c": {"type": "string"},
                "open": {},
                "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {}}, "additionalProperties": false}},
            },
            "additionalProperties": false,
        }));
        for good in ["", "/path", "/a~1b~0c", "/open", "/open/deep/er", "/rows/0", "/rows/0/id"] {
            assert!(schema.may_hold(good), "{good}");
        }
        for bad in ["path", "/", "/pth", "/path/deep", "/a/b~c", "/rows/0/name"] {
            assert!(!schema.may_hold(bad), "{bad}");
        }
        assert!(Schema::anything().may_hold("/any/where") && !Schema::nothing().may_hold("/any"));
    }
}
