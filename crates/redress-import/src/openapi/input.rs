//! One object as input: all parameters, and the members of the body.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    body,
    names::members,
    schemas::{Schemas, is_binary, object, shortened},
    source::Source,
};
use crate::{
    ApiKeyPlace, BodyPlan, Field, Place, SecurityScheme, Serialization, Style,
    document::{Node, pointer},
};

/// Headers that HTTP, the gateway or the credentials speak of, and no caller.
const NOT_PARAMETERS: [&str; 7] =
    ["accept", "content-type", "authorization", "content-length", "host", "connection", "cookie"];
/// Headers that take a key by which a service knows a request again.
const IDEMPOTENCY_HEADERS: [&str; 4] = ["idempotency-key", "x-idempotency-key", "idempotencykey", "x-idempotent-key"];
/// Parameters by which a caller asks for less, the most telling first.
const NARROWING: [&str; 24] = [
    "limit",
    "per_page",
    "page_size",
    "pagesize",
    "max_results",
    "maxresults",
    "max_items",
    "size",
    "count",
    "first",
    "top",
    "fields",
    "select",
    "_fields",
    "include_fields",
    "only",
    "page",
    "offset",
    "cursor",
    "starting_after",
    "after",
    "since",
    "filter",
    "q",
];
/// How many bytes the description of a parameter may have before levels cut it further.
const LONGEST_TEXT: usize = 600;

/// One member of the input before it has its name.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) place: Place,
    pub(super) name: String,
    /// In the one form, references and all.
    pub(super) schema: Value,
    pub(super) required: bool,
    pub(super) serialization: Serialization,
}

/// What an operation takes.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// In the one form, references and all.
    pub(super) schema: Value,
    pub(super) fields: Vec<Field>,
    pub(super) body: Option<BodyPlan>,
    pub(super) idempotency_header: Option<String>,
    pub(super) narrowing: Vec<String>,
    /// The path without what tells two operations of one path apart.
    pub(super) path: String,
}

/// What the operation at `place` takes.
pub(super) fn input(source: &Source, schemas: &Schemas<'_>, operation: Operated<'_>, keys: &[SecurityScheme]) -> Input {
    let path = operation.path.split('#').next().unwrap_or_default().to_owned();
    let (mut parts, idempotency_header) = parameters(source, schemas, &operation, &path, keys);
    let taken = body::body(source, schemas, operation.node, operation.place);
    let body = taken.map(|taken| {
        parts.extend(taken.parts);
        taken.plan
    });
    let wanted: Vec<(&str, &str)> = parts.iter().map(|part| (word(part.place), part.name.as_str())).collect();
    let names = members(&wanted);
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut fields = Vec::new();
    for (part, field) in parts.into_iter().zip(names) {
        if part.required {
            required.push(field.clone());
        }
        properties.insert(field.clone(), part.schema);
        fields.push(Field {
            field,
            name: part.name,
            place: part.place,
            required: part.required,
            serialization: part.serialization,
            fixed: None,
        });
    }
    let rest = body.as_ref().is_some_and(|body| body.rest);
    let schema = object(properties, required, !rest);
    let narrowing = narrowing(&fields);
    Input { schema, fields, body, idempotency_header, narrowing, path }
}

/// An operation where it stands.
#[derive(Clone, Copy)]
pub(super) struct Operated<'d> {
    pub(super) node: &'d Node,
    pub(super) place: &'d str,
    pub(super) item: &'d Node,
    pub(super) item_place: &'d str,
    pub(super) path: &'d str,
}

const fn word(place: Place) -> &'static str {
    match place {
        Place::Path => "path",
        Place::Query | Place::Querystring => "query",
        Place::Header => "header",
        Place::Cookie => "cookie",
        Place::BodyMember | Place::Body => "body",
    }
}

fn narrowing(fields: &[Field]) -> Vec<String> {
    let plain = |name: &str| name.trim_start_matches(['$', '_']).to_ascii_lowercase().replace('-', "_");
    let found = NARROWING.iter().flat_map(|known| {
        let named = fields.iter().filter(move |field| field.place == Place::Query && plain(&field.name) == *known);
        named.map(|field| field.field.clone())
    });
    found.take(6).collect()
}

/// The parameters of an operation and of its path, the operation's own before those, and the header for a key.
fn parameters(
    source: &Source,
    schemas: &Schemas<'_>,
    operation: &Operated<'_>,
    path: &str,
    keys: &[SecurityScheme],
) -> (Vec<Part>, Option<String>) {
    let mut parts: Vec<Part> = Vec::new();
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut idempotency = None;
    let lists = [(operation.item, operation.item_place), (operation.node, operation.place)];
    for (node, place) in lists {
        let place = pointer::joined(place, "parameters");
        for (index, declared) in node.get("parameters").and_then(Node::as_array).unwrap_or_default().iter().enumerate()
        {
            let place = pointer::joined(&place, &index.to_string());
            let found = match source.follow(declared, &place) {
                Ok(found) => found,
                Err(broken) => {
                    schemas.warn(&place, "broken-reference", &format!("{broken}; the parameter is left out"));
                    continue;
                }
            };
            let Some(part) = parameter(schemas, found.node, &found.pointer) else { continue };
            let lower = part.name.to_ascii_lowercase();
            if part.place == Place::Header && IDEMPOTENCY_HEADERS.contains(&lower.as_str()) {
                idempotency = Some(part.name);
                continue;
            }
            let ignored = part.place == Place::Header && NOT_PARAMETERS.contains(&lower.as_str());
            if ignored || keys.iter().any(|key| is_key(key, &part)) {
                continue;
            }
            let key =
                (word(part.place).to_owned(), if part.place == Place::Header { lower } else { part.name.clone() });
            match seen.get(&key).and_then(|known| parts.get_mut(*known)) {
                Some(known) => *known = part,
                None => {
                    seen.insert(key, parts.len());
                    parts.push(part);
                }
            }
        }
    }
    in_template(schemas, operation, path, &mut parts);
    (parts, idempotency)
}

/// Whether a parameter is what the credentials fill in.
fn is_key(scheme: &SecurityScheme, part: &Part) -> bool {
    let SecurityScheme::ApiKey { place, name, .. } = scheme else { return false };
    match (place, part.place) {
        (ApiKeyPlace::Header, Place::Header) => name.eq_ignore_ascii_case(&part.name),
        (ApiKeyPlace::Query, Place::Query) | (ApiKeyPlace::Cookie, Place::Cookie) => *name == part.name,
        _ => false,
    }
}

/// Every place in the path has a parameter, and every parameter of the path a place in it.
fn in_template(schemas: &Schemas<'_>, operation: &Operated<'_>, path: &str, parts: &mut Vec<Part>) {
    let names = template(path);
    parts.retain(|part| {
        let stays = part.place != Place::Path || names.contains(&part.name);
        if !stays {
            let told = format!("the path has no place for the parameter `{}`; it is left out", part.name);
            schemas.warn(operation.place, "parameter-without-place", &told);
        }
        stays
    });
    for name in names {
        if !parts.iter().any(|part| part.place == Place::Path && part.name == name) {
            let told = format!("nothing declares the parameter `{name}` of the path; it is taken as a text");
            schemas.warn(operation.place, "undeclared-parameter", &told);
            parts.insert(
                0,
                Part {
                    place: Place::Path,
                    name,
                    schema: json!({"type": "string"}),
                    required: true,
                    serialization: Serialization::Style { style: Style::Simple, explode: false, allow_reserved: false },
                },
            );
        }
    }
}

/// The names in the braces of a path.
pub(super) fn template(path: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in path.split('{').skip(1) {
        if let Some((name, _)) = part.split_once('}')
            && !name.is_empty()
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

fn parameter(schemas: &Schemas<'_>, node: &Node, place: &str) -> Option<Part> {
    let Some(name) = node.text("name").filter(|name| !name.is_empty()) else {
        schemas.warn(place, "bad-parameter", "the parameter has no name; it is left out");
        return None;
    };
    let at = match node.text("in").unwrap_or_default().to_ascii_lowercase().as_str() {
        "path" => Place::Path,
        "query" => Place::Query,
        "querystring" => Place::Querystring,
        "header" => Place::Header,
        "cookie" => Place::Cookie,
        _ => {
            schemas.warn(place, "bad-parameter", "the parameter does not say where it goes; it is left out");
            return None;
        }
    };
    let content = node.get("content").and_then(Node::as_object).and_then(|content| content.iter().next());
    let (mut schema, serialization) = match (content, node.get("schema")) {
        (Some((media_type, media)), _) => {
            let below = pointer::joined(&pointer::joined(place, "content"), media_type);
            let schema = media.get("schema").map(|schema| schemas.read(schema, &pointer::joined(&below, "schema")));
            (schema.unwrap_or(json!({})), Serialization::Content { media_type: media_type.to_owned() })
        }
        (None, Some(schema)) => {
            (schemas.read(schema, &pointer::joined(place, "schema")), style(schemas, node, at, place))
        }
        // A parameter that says nothing of its value is a text.
        (None, None) => (json!({"type": "string"}), style(schemas, node, at, place)),
    };
    describe(&mut schema, node);
    let required = at == Place::Path || node.says("required");
    Some(Part { place: at, name: name.to_owned(), schema, required, serialization })
}

/// Puts what is said of a parameter, or a part, into its schema.
pub(super) fn describe(schema: &mut Value, node: &Node) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    let Value::Object(words) = schema else { return };
    if let Some(text) = node.text("description").and_then(|text| shortened(text, LONGEST_TEXT)) {
        words.insert("description".into(), text.into());
    }
    if node.says("deprecated") {
        words.insert("deprecated".into(), true.into());
    }
}

fn style(schemas: &Schemas<'_>, node: &Node, at: Place, place: &str) -> Serialization {
    let usual = match at {
        Place::Path | Place::Header => Style::Simple,
        Place::Query | Place::Querystring | Place::Cookie | Place::BodyMember | Place::Body => Style::Form,
    };
    let style = node.text("style").map(named_style);
    if style == Some(None) {
        schemas.warn(place, "bad-style", "there is no such style; the usual one of the place is taken");
    }
    let style = style.flatten().unwrap_or(usual);
    let explode = node.get("explode").and_then(Node::as_bool).unwrap_or(matches!(style, Style::Form | Style::Cookie));
    Serialization::Style { style, explode, allow_reserved: node.says("allowReserved") }
}

pub(super) fn named_style(name: &str) -> Option<Style> {
    Some(match name {
        "simple" => Style::Simple,
        "label" => Style::Label,
        "matrix" => Style::Matrix,
        "form" => Style::Form,
        "spaceDelimited" => Style::SpaceDelimited,
        "pipeDelimited" => Style::PipeDelimited,
        "deepObject" => Style::DeepObject,
        "cookie" => Style::Cookie,
        _ => return None,
    })
}

/// What a caller gives for a file.
pub(super) fn file(description: Option<&str>) -> Value {
    let mut made = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The content, if it is text."},
            "base64": {"type": "string", "contentEncoding": "base64", "description": "The content, if it is not text."},
            "filename": {"type": "string"},
            "media_type": {"type": "string"},
        },
        "additionalProperties": false,
    });
    if let (Some(text), Value::Object(made)) = (description, &mut made) {
        made.insert("description".into(), text.into());
    }
    made
}

/// Whether a schema is of a file, or of several.
pub(super) fn is_file(schemas: &Schemas<'_>, schema: &Value) -> Option<Files> {
    let schema = schemas.resolved(schema);
    if is_binary(&schema) {
        return Some(Files::One);
    }
    let items = schema.get("items")?;
    is_binary(&schemas.resolved(items)).then_some(Files::Several)
}

/// How many files go into one member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    One,
    Several,
}
