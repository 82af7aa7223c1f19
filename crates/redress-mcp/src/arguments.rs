//! What stands in the arguments of a tool and is not meant for its operation: fields that hosts add, and `null` for "not
//! given".

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use redress_contract::Schema;
use redress_wire::mcp::{ObjectMembers, plain};
use serde_json::Value;

/// A field that a host adds to the arguments of every tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostField {
    /// Its name.
    pub name: &'static str,
    /// The host that adds it.
    pub host: &'static str,
    /// Where that can be read.
    pub source: &'static str,
}

/// The fields that hosts are known to add. [`McpOptions::host_fields`](crate::McpOptions::host_fields) adds more.
pub const HOST_FIELDS: [HostField; 3] = [
    HostField {
        name: "wait_for_previous",
        host: "Gemini CLI",
        source: "https://github.com/MemPalace/mempalace/pull/322",
    },
    HostField { name: "toolCallId", host: "n8n", source: "https://github.com/n8n-io/n8n/issues/21500" },
    HostField { name: "_sessionID", host: "SiYuan", source: "https://github.com/siyuan-note/siyuan/issues/17927" },
];

/// The most bytes that the value of such a field has.
const MAX_HOST_FIELD: usize = 256;

/// How many fields of hosts were dropped. Clones count together: a face that takes the place of another, as at a reload,
/// goes on counting where that stood.
#[derive(Clone, Debug, Default)]
pub struct DroppedFields(Arc<AtomicU64>);

impl DroppedFields {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// What may be taken out of the arguments of one tool.
#[derive(Debug, Default)]
pub(crate) struct Tidy {
    /// The fields of hosts that its operation would refuse.
    fields: Vec<Box<str>>,
    nulls: Option<Nulls>,
}

/// The members of an object that may be left out and are refused as `null`, and the objects below it that have such.
#[derive(Debug, Default)]
struct Nulls {
    optional: Vec<Box<str>>,
    inner: Vec<(Box<str>, Nulls)>,
    items: Option<Box<Nulls>>,
}

impl Tidy {
    /// What may be taken out of arguments for this schema. `more` are fields that hosts add besides the known ones.
    pub(crate) fn of(schema: &Schema, more: &[String]) -> Tidy {
        let known = HOST_FIELDS.iter().map(|field| field.name).chain(more.iter().map(String::as_str));
        // Where any field is taken, one of a host does no harm, and it may be one of the caller's.
        let fields = if schema.is_closed() {
            known.filter(|name| !declares(schema, name)).map(Into::into).collect()
        } else {
            Vec::new()
        };
        Tidy { fields, nulls: Nulls::of(&plain(schema.as_value())) }
    }

    /// Tidies the arguments of the tools that find others, which take these fields.
    pub(crate) fn around(takes: &[&str], more: &[String]) -> Tidy {
        let known = HOST_FIELDS.iter().map(|field| field.name).chain(more.iter().map(String::as_str));
        Tidy { fields: known.filter(|name| !takes.contains(name)).map(Into::into).collect(), nulls: None }
    }

    /// The arguments without what is not meant for the operation. Whatever else is in them stays as it was written, in
    /// its order, twice if it was there twice.
    pub(crate) fn tidied<'a>(&self, arguments: &'a str, dropped: &DroppedFields) -> Cow<'a, str> {
        let has_field = self.fields.iter().any(|field| arguments.contains(&**field));
        let has_null = self.nulls.is_some() && arguments.contains("null");
        if !has_field && !has_null {
            return Cow::Borrowed(arguments);
        }
        let (mut tidied, mut fields) = (String::with_capacity(arguments.len()), 0);
        let nulls = self.nulls.as_ref().filter(|_| has_null);
        match object(arguments, &self.fields, nulls, &mut fields, &mut tidied) {
            Some(()) => {
                if fields > 0 {
                    dropped.add(fields);
                }
                Cow::Owned(tidied)
            }
            None => Cow::Borrowed(arguments),
        }
    }
}

/// Whether any part of the schema speaks of a member of this name.
fn declares(schema: &Schema, name: &str) -> bool {
    schema.parts().any(|words| {
        words.contains_key("patternProperties")
            || words.get("properties").and_then(Value::as_object).is_some_and(|named| named.contains_key(name))
    })
}

impl Nulls {
    fn of(schema: &Value) -> Option<Nulls> {
        let mut nulls = Nulls::default();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if !is_required(name) && !admits_null(member) {
                nulls.optional.push(name.as_str().into());
            }
            nulls.inner.extend(Nulls::of(member).map(|inner| (name.as_str().into(), inner)));
        }
        // Beside `prefixItems` it holds of the rest alone.
        let items = schema.get("items").filter(|_| schema.get("prefixItems").is_none());
        nulls.items = items.and_then(Nulls::of).map(Box::new);
        let has_some = !nulls.optional.is_empty() || !nulls.inner.is_empty() || nulls.items.is_some();
        has_some.then_some(nulls)
    }
}

/// Whether `null` may fit; where it is not plain to see, it may.
fn admits_null(schema: &Value) -> bool {
    let Some(words) = schema.as_object() else { return *schema != Value::Bool(false) };
    words.iter().all(|(word, value)| match (word.as_str(), value) {
        ("type", Value::String(name)) => name == "null",
        ("type", Value::Array(names)) => names.iter().any(|name| name == "null"),
        ("const", value) => value.is_null(),
        ("enum", Value::Array(values)) => values.contains(&Value::Null),
        ("anyOf" | "oneOf", Value::Array(branches)) => branches.iter().any(admits_null),
        ("allOf", Value::Array(branches)) => branches.iter().all(admits_null),
        _ => true,
    })
}

/// Writes an object without the fields and nulls; nothing if it is none.
fn object(json: &str, fields: &[Box<str>], nulls: Option<&Nulls>, dropped: &mut u64, out: &mut String) -> Option<()> {
    let members = ObjectMembers::read(json)?.0;
    let optional = nulls.map_or(&[][..], |nulls| &nulls.optional);
    // What stands there twice is refused, and must not come to stand there once.
    let mut counts = vec![0_usize; optional.len()];
    for (name, _) in &members {
        if let Some(place) = optional.iter().position(|optional| **optional == **name) {
            counts[place] += 1;
        }
    }
    let may_go = |name: &str| optional.iter().zip(&counts).any(|(optional, count)| **optional == *name && *count == 1);
    out.push('{');
    let mut first = true;
    for (name, value) in members {
        // What is larger, or there more often, is none of a host's: it is measured and refused with the rest.
        let is_hosts = || value.get().len() <= MAX_HOST_FIELD && fields.iter().any(|field| **field == *name);
        if *dropped < fields.len() as u64 && is_hosts() {
            *dropped += 1;
            continue;
        }
        if value.get() == "null" && may_go(&name) {
            continue;
        }
        if !first {
            out.push(',');
        }
        first = false;
        out.push_str(&Value::from(name.as_ref()).to_string());
        out.push(':');
        let inner = nulls.and_then(|nulls| nulls.inner.iter().find(|(inner, _)| **inner == *name));
        below(value.get(), inner.map(|(_, nulls)| nulls), dropped, out);
    }
    out.push('}');
    Some(())
}

/// Writes a value without the nulls below it.
fn below(json: &str, nulls: Option<&Nulls>, dropped: &mut u64, out: &mut String) {
    let Some(nulls) = nulls else { return out.push_str(json) };
    if json.starts_with('{') {
        let start = out.len();
        if object(json, &[], Some(nulls), dropped, out).is_none() {
            out.truncate(start);
            out.push_str(json);
        }
        return;
    }
    let list = nulls.items.as_deref().filter(|_| json.starts_with('['));
    let Some((items, several)) = list.zip(serde_json::from_str::<Vec<&serde_json::value::RawValue>>(json).ok()) else {
        return out.push_str(json);
    };
    out.push('[');
    for (place, item) in several.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        below(item.get(), Some(items), dropped, out);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::new(json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "default": 5},
            "after": {"type": ["string", "null"]},
            "edits": {"type": "array", "items": {"type": "object", "properties": {"all": {"type": "boolean"}}}},
        }}))
    }

    fn tidied(schema: &Schema, more: &[String], arguments: &str) -> (String, u64) {
        let dropped = DroppedFields::default();
        let tidied = Tidy::of(schema, more).tidied(arguments, &dropped).into_owned();
        (tidied, dropped.count())
    }

    #[test]
    fn a_field_of_a_host_is_small_and_there_once_for_each() {
        let large = format!(r#"{{"path":"a","toolCallId":"{}"}}"#, "x".repeat(MAX_HOST_FIELD));
        assert_eq!(tidied(&schema(), &[], &large).0, large);
        let deep = format!(r#"{{"path":"a","toolCallId":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(tidied(&schema(), &[], &deep).0, deep);
        let often = format!(r#"{{"path":"a"{}}}"#, r#","toolCallId":1"#.repeat(9));
        assert_eq!(tidied(&schema(), &[], &often), (format!(r#"{{"path":"a"{}}}"#, r#","toolCallId":1"#.repeat(6)), 3));
    }

    #[test]
    fn what_hosts_add_and_null_for_not_given_are_left_out_and_nothing_else_is() {
        for (arguments, expected, fields) in [
            (r#"{"path": "a", "wait_for_previous": true}"#, r#"{"path":"a"}"#, 1),
            (r#"{"toolCallId":"1","path":"a","_sessionID":"2"}"#, r#"{"path":"a"}"#, 2),
            (r#"{"path":"a","limit":null,"after":null}"#, r#"{"path":"a","after":null}"#, 0),
            (r#"{"path":null}"#, r#"{"path":null}"#, 0),
            (r#"{"path":"a","path":null,"limit":null}"#, r#"{"path":"a","path":null}"#, 0),
            (r#"{"limit":5,"limit":null}"#, r#"{"limit":5,"limit":null}"#, 0),
            (r#"{"limit":null,"limit":null}"#, r#"{"limit":null,"limit":null}"#, 0),
            (r#"{"edits":[{"all":null,"x":1e2},null]}"#, r#"{"edits":[{"x":1e2},null]}"#, 0),
            (r#"{"path":"null wait_for_previous"}"#, r#"{"path":"null wait_for_previous"}"#, 0),
            (r#"["wait_for_previous",null]"#, r#"["wait_for_previous",null]"#, 0),
            (r#"{"path":"a"}"#, r#"{"path":"a"}"#, 0),
            (r#"{"path":"a","ho":1}"#, r#"{"path":"a"}"#, 1),
        ] {
            assert_eq!(tidied(&schema(), &["ho".to_owned()], arguments), (expected.to_owned(), fields), "{arguments}");
        }
    }

    #[test]
    fn a_field_that_the_operation_declares_or_could_take_is_its_own() {
        let declared = Schema::new(
            json!({"type": "object", "additionalProperties": false, "properties": {"toolCallId": {"type": "string"}}}),
        );
        let open = Schema::new(json!({"type": "object", "properties": {}}));
        for schema in [declared, open] {
            let arguments = r#"{"toolCallId":"1"}"#;
            assert_eq!(tidied(&schema, &[], arguments), (arguments.to_owned(), 0));
        }
    }

    #[test]
    fn every_known_field_says_where_it_was_seen() {
        for field in HOST_FIELDS {
            assert!(!field.host.is_empty() && field.source.starts_with("https://"), "{}", field.name);
        }
    }
}
