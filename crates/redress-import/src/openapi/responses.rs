//! What an operation may answer: the statuses, and what the body of each is.

use serde_json::{Value, json};

use super::{
    schemas::{Direction, Measure, Schemas, is_binary, types_of},
    source::Source,
};
use crate::{
    BodyKind, StatusPattern,
    document::{Members, Node, pointer},
};

/// Headers of an answer that are never told to a caller.
const NOT_TOLD: [&str; 8] = [
    "set-cookie",
    "set-cookie2",
    "authorization",
    "proxy-authorization",
    "proxy-authenticate",
    "x-api-key",
    "x-auth-token",
    "x-csrf-token",
];
/// How many headers of an answer are told.
const MAX_HEADERS: usize = 16;

/// One declared response, before it is a plan.
pub(super) struct Declared<'d> {
    pub(super) status: StatusPattern,
    pub(super) node: &'d Node,
    pub(super) pointer: String,
    pub(super) description: String,
    pub(super) content: Vec<Content>,
    pub(super) headers: Vec<String>,
}

/// A body of one media type, in the one form.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) media_type: String,
    pub(super) kind: BodyKind,
    /// Of the value that the bytes become, references and all; for a stream, of each item.
    pub(super) schema: Value,
}

/// The declared responses of the operation `node` at `place`, in the order of the document.
pub(super) fn responses<'d>(
    source: &'d Source,
    schemas: &Schemas<'_>,
    node: &'d Node,
    place: &str,
) -> Vec<Declared<'d>> {
    let place = pointer::joined(place, "responses");
    let Some(map) = node.get("responses").and_then(Node::as_object) else {
        schemas.warn(&place, "no-responses", "no response is declared; anything may be answered");
        return Vec::new();
    };
    let mut made: Vec<Declared<'d>> = Vec::new();
    for (key, node) in map.iter() {
        if key.starts_with("x-") {
            continue;
        }
        let place = pointer::joined(&place, key);
        let Some(status) = StatusPattern::parse(key) else {
            schemas.warn(&place, "bad-status", "this is no status, no range of them and not `default`; it is left out");
            continue;
        };
        if made.iter().any(|known| known.status == status) {
            schemas.warn(&place, "duplicate-status", "the status is declared twice; the first one counts");
            continue;
        }
        let (node, place) = match source.follow(node, &place) {
            Ok(found) => (found.node, found.pointer),
            Err(broken) => {
                schemas.warn(&place, "broken-reference", &format!("{broken}; the body may be anything"));
                (node, place)
            }
        };
        made.push(Declared {
            status,
            node,
            description: node.text("description").unwrap_or_default().to_owned(),
            content: content(source, schemas, node, &place),
            headers: headers(node),
            pointer: place,
        });
    }
    made
}

fn headers(node: &Node) -> Vec<String> {
    let declared = node.get("headers").and_then(Node::as_object).into_iter().flat_map(Members::iter);
    let names = declared.map(|(name, _)| name.to_ascii_lowercase());
    names.filter(|name| !NOT_TOLD.contains(&name.as_str()) && name != "content-type").take(MAX_HEADERS).collect()
}

fn content(source: &Source, schemas: &Schemas<'_>, node: &Node, place: &str) -> Vec<Content> {
    let place = pointer::joined(place, "content");
    let declared = node.get("content").and_then(Node::as_object).into_iter().flat_map(Members::iter);
    let made = declared.map(|(media_type, media)| {
        let place = pointer::joined(&place, media_type);
        let (media, place) = match source.follow(media, &place) {
            Ok(found) => (found.node, found.pointer),
            Err(_) => (media, place),
        };
        let read =
            |keyword: &str| media.get(keyword).map(|schema| schemas.read(schema, &pointer::joined(&place, keyword)));
        let item = read("itemSchema");
        let schema = read("schema");
        let kind =
            kind(media_type, item.as_ref().or(schema.as_ref()).map(|schema| schemas.resolved(schema)).as_deref());
        let schema = match kind {
            BodyKind::Events | BodyKind::JsonLines => match (item, schema) {
                (Some(item), _) => item,
                // The schema of a stream as a whole says nothing of its items, unless it is of one.
                (None, Some(schema)) if is_of_an_item(schemas, &schema) => schema,
                (None, _) => json!({}),
            },
            BodyKind::Json | BodyKind::Form => schema.unwrap_or_else(|| json!({})),
            BodyKind::Problem => schema.filter(|schema| *schema != json!({})).unwrap_or_else(problem),
            BodyKind::Text => json!({"type": "string"}),
            BodyKind::Bytes => bytes(),
        };
        Content { media_type: media_type.to_owned(), kind, schema }
    });
    made.collect()
}

fn is_of_an_item(schemas: &Schemas<'_>, schema: &Value) -> bool {
    let schema = schemas.resolved(schema);
    types_of(&schema).is_none_or(|types| types.contains(&"object"))
}

/// A problem document (RFC 9457) of which nothing more is said.
fn problem() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "instance": {"type": "string"},
        },
    })
}

/// What bytes become that are neither JSON nor text.
fn bytes() -> Value {
    json!({
        "type": "object",
        "properties": {
            "media_type": {"type": "string"},
            "base64": {"type": "string", "contentEncoding": "base64"},
        },
        "required": ["media_type", "base64"],
    })
}

/// How the bytes of this media type become a value.
pub(super) fn kind(media_type: &str, schema: Option<&Value>) -> BodyKind {
    let lower = media_type.to_ascii_lowercase();
    let essence = lower.split(';').next().unwrap_or_default().trim();
    match essence {
        "application/problem+json" => BodyKind::Problem,
        "text/event-stream" => BodyKind::Events,
        "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/x-jsonlines"
        | "application/jsonlines"
        | "application/json-seq"
        | "application/stream+json"
        | "application/x-jsonl" => BodyKind::JsonLines,
        "application/json" if lower.contains("stream=") => BodyKind::JsonLines,
        "application/x-www-form-urlencoded" => BodyKind::Form,
        json if json.ends_with("/json") || json.ends_with("+json") => BodyKind::Json,
        // Some name no more than that it is something.
        "*/*" | "application/*" | "" => match schema {
            Some(schema) if !is_binary(schema) => BodyKind::Json,
            Some(_) | None => BodyKind::Bytes,
        },
        text if text.starts_with("text/")
            || text.contains("xml")
            || text.contains("yaml")
            || text.contains("javascript")
            || text.contains("csv") =>
        {
            BodyKind::Text
        }
        _ => BodyKind::Bytes,
    }
}

/// What of several media types is asked for: JSON if there is any, and else all of them.
pub(super) fn wanted(content: &[Content]) -> Vec<&Content> {
    let json: Vec<&Content> =
        content.iter().filter(|content| matches!(content.kind, BodyKind::Json | BodyKind::Problem)).collect();
    if json.is_empty() { content.iter().collect() } else { json }
}

/// Whether a body is a stream of items.
pub(super) fn is_stream(content: &Content) -> bool {
    matches!(content.kind, BodyKind::Events | BodyKind::JsonLines)
}

/// One schema that admits what any of these admits.
pub(super) fn any_of(mut several: Vec<Value>) -> Value {
    let mut distinct: Vec<Value> = Vec::new();
    for one in several.drain(..) {
        let is_open = one == Value::Bool(true) || one.as_object().is_some_and(serde_json::Map::is_empty);
        if is_open {
            return json!({});
        }
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    match distinct.len() {
        0 => json!({}),
        1 => distinct.swap_remove(0),
        _ => json!({"anyOf": distinct}),
    }
}

/// Where in a body the service's own code may be, as far as the schema tells, and the codes that it names.
pub(super) fn reasons(schemas: &Schemas<'_>, content: &[Content]) -> (Vec<String>, Vec<String>) {
    /// The places that are looked at, the most telling first.
    const PLACES: [&[&str]; 14] = [
        &["code"],
        &["error", "code"],
        &["error_code"],
        &["errorCode"],
        &["err_code"],
        &["error", "type"],
        &["error", "status"],
        &["error", "reason"],
        &["errors", "0", "code"],
        &["reason"],
        &["error"],
        &["type"],
        &["title"],
        &["name"],
    ];
    let mut pointers = Vec::new();
    let mut codes = Vec::new();
    for content in content.iter().filter(|content| matches!(content.kind, BodyKind::Json | BodyKind::Problem)) {
        for place in PLACES {
            let Some(found) = member(schemas, &content.schema, place) else { continue };
            let plain =
                types_of(&found).is_none_or(|types| types.iter().any(|name| ["string", "integer"].contains(name)));
            if !plain || found.get("properties").is_some() {
                continue;
            }
            let pointer: String = place.iter().fold(String::new(), |pointer, name| pointer::joined(&pointer, name));
            if !pointers.contains(&pointer) {
                pointers.push(pointer);
            }
            let listed = found.get("enum").and_then(Value::as_array).into_iter().flatten();
            let listed = listed.chain(found.get("const")).filter_map(Value::as_str).map(str::to_owned);
            codes.extend(listed.take(24));
        }
    }
    codes.dedup();
    codes.truncate(24);
    pointers.truncate(6);
    (pointers, codes)
}

/// What the schema says of a member, through references and the parts that all hold.
fn member(schemas: &Schemas<'_>, schema: &Value, place: &[&str]) -> Option<Value> {
    let Some((first, rest)) = place.split_first() else { return Some((*schemas.resolved(schema)).clone()) };
    let mut left = vec![schemas.resolved(schema)];
    let mut looked = 0;
    while let Some(schema) = left.pop() {
        looked += 1;
        if looked > 24 {
            return None;
        }
        let below = if *first == "0" {
            schema.get("items")
        } else {
            schema.get("properties").and_then(|members| members.get(*first))
        };
        if let Some(found) = below.and_then(|below| member(schemas, below, rest)) {
            return Some(found);
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            let several = schema.get(word).and_then(Value::as_array).into_iter().flatten();
            left.extend(several.take(8).map(|one| schemas.resolved(one)));
        }
    }
    None
}

/// The measure for what comes back.
pub(super) const fn measure(depth: usize, bytes: usize) -> Measure {
    Measure { depth, bytes, direction: Direction::Response }
}
