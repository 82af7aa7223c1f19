//! The body of a request: which media type, and whether its members are members of the input.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    input::{Files, Part, describe, file, is_file, named_style},
    schemas::{Schemas, types_of},
    source::Source,
};
use crate::{
    BodyPlan, Place, Serialization, Style,
    document::{Members, Node, pointer},
};

/// How many parts of an `allOf` are put together.
const MAX_PARTS: usize = 32;

/// What an operation takes as its body.
pub(super) struct Body {
    pub(super) plan: BodyPlan,
    pub(super) parts: Vec<Part>,
}

/// How a body is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Written {
    Json,
    MergePatch,
    OtherJson,
    Form,
    Multipart,
    Text,
    Bytes,
}

fn written(media_type: &str) -> Written {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" | "text/json" => Written::Json,
        "application/merge-patch+json" => Written::MergePatch,
        "application/x-www-form-urlencoded" => Written::Form,
        "*/*" | "application/*" => Written::OtherJson,
        json if json.ends_with("+json") || json.ends_with("/json") => Written::OtherJson,
        multipart if multipart.starts_with("multipart/") => Written::Multipart,
        text if text.starts_with("text/")
            || text.contains("xml")
            || text.contains("yaml")
            || text.contains("graphql") =>
        {
            Written::Text
        }
        _ => Written::Bytes,
    }
}

/// What the operation `node` at `place` takes as its body.
pub(super) fn body(source: &Source, schemas: &Schemas<'_>, node: &Node, place: &str) -> Option<Body> {
    let place = pointer::joined(place, "requestBody");
    let found = match source.follow(node.get("requestBody")?, &place) {
        Ok(found) => found,
        Err(broken) => {
            schemas.warn(&place, "broken-reference", &format!("{broken}; the body may be any JSON"));
            let part = whole(json!({}), false, Serialization::Json);
            return Some(Body { plan: plan("application/json", false, false), parts: vec![part] });
        }
    };
    let content = found.node.get("content").and_then(Node::as_object)?;
    let content_place = pointer::joined(&found.pointer, "content");
    // The first of the best: `min_by_key` keeps the order of the document.
    let (media_type, media) = content.iter().min_by_key(|(media_type, _)| written(media_type))?;
    let media_place = pointer::joined(&content_place, media_type);
    let (media, media_place) = match source.follow(media, &media_place) {
        Ok(found) => (found.node, found.pointer),
        Err(_) => (media, media_place),
    };
    let mut schema = match media.get("schema") {
        Some(schema) => schemas.read(schema, &pointer::joined(&media_place, "schema")),
        None => json!({}),
    };
    if schema.get("description").is_none() {
        describe(&mut schema, found.node);
    }
    let required = found.node.says("required");
    let sent = if media_type.contains('*') { "application/json" } else { media_type };
    let mut plan = plan(sent, required, false);
    let parts = match written(media_type) {
        Written::Json | Written::MergePatch | Written::OtherJson => match flat(schemas, &schema) {
            Some(flat) => {
                plan.of_members = true;
                plan.rest = flat.rest;
                flat.members(required, |_, _| Serialization::Json)
            }
            None => vec![whole(schema, required, Serialization::Json)],
        },
        Written::Form | Written::Multipart => {
            let multipart = written(media_type) == Written::Multipart;
            let encodings = Encodings { node: media.get("encoding"), multipart };
            match flat(schemas, &schema) {
                Some(flat) => {
                    plan.of_members = true;
                    let mut parts = flat.members(required, |_, _| Serialization::Text);
                    for part in &mut parts {
                        encodings.apply(schemas, part, &mut plan.part_media_types);
                    }
                    parts
                }
                None => vec![whole(schema, required, Serialization::Json)],
            }
        }
        Written::Text => {
            let description = schema.get("description").cloned();
            let mut schema = json!({"type": "string"});
            if let (Some(text), Value::Object(words)) = (description, &mut schema) {
                words.insert("description".into(), text);
            }
            vec![whole(schema, required, Serialization::Text)]
        }
        Written::Bytes => {
            let description = schema.get("description").and_then(Value::as_str);
            vec![whole(file(description), required, Serialization::File { media_type: sent.to_owned() })]
        }
    };
    Some(Body { plan, parts })
}

fn plan(media_type: &str, required: bool, of_members: bool) -> BodyPlan {
    BodyPlan { media_type: media_type.to_owned(), required, of_members, rest: false, part_media_types: BTreeMap::new() }
}

fn whole(schema: Value, required: bool, serialization: Serialization) -> Part {
    Part { place: Place::Body, name: "body".to_owned(), schema, required, serialization }
}

/// An object whose members can be members of the input.
struct Flat {
    members: Map<String, Value>,
    required: BTreeSet<String>,
    /// Whether other members are taken too, because the schema says so.
    rest: bool,
}

impl Flat {
    fn members(self, required: bool, serialization: impl Fn(&str, &Value) -> Serialization) -> Vec<Part> {
        let needed = self.required;
        let parts = self.members.into_iter().map(|(name, schema)| Part {
            place: Place::BodyMember,
            required: required && needed.contains(&name),
            serialization: serialization(&name, &schema),
            schema,
            name,
        });
        parts.collect()
    }
}

/// The members of an object, if that is what the schema is of: nothing else, and no alternatives.
fn flat(schemas: &Schemas<'_>, schema: &Value) -> Option<Flat> {
    let mut made = Flat { members: Map::new(), required: BTreeSet::new(), rest: false };
    let mut left = MAX_PARTS;
    gather(schemas, schema, &mut made, &mut left)?;
    made.members.retain(|_, member| {
        let read_only = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        let referred = member.get("$ref").and_then(Value::as_str).map(|target| schemas.at(target));
        !read_only(member) && !referred.is_some_and(|referred| read_only(&referred))
    });
    let members = &made.members;
    made.required.retain(|name| members.contains_key(name));
    (!made.members.is_empty()).then_some(made)
}

fn gather(schemas: &Schemas<'_>, schema: &Value, made: &mut Flat, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    let Value::Object(words) = schema else { return None };
    if let Some(target) = words.get("$ref").and_then(Value::as_str) {
        gather(schemas, &schemas.at(target), made, left)?;
    }
    for word in words.keys() {
        match word.as_str() {
            "$ref"
            | "type"
            | "title"
            | "description"
            | "properties"
            | "required"
            | "additionalProperties"
            | "allOf"
            | "default"
            | "deprecated"
            | "unevaluatedProperties"
            | "minProperties"
            | "maxProperties"
            | "format" => {}
            _ => return None,
        }
    }
    if types_of(schema).is_some_and(|types| types.iter().any(|name| *name != "object")) {
        return None;
    }
    match words.get("additionalProperties") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => made.rest = true,
        Some(Value::Object(words)) if words.is_empty() => made.rest = true,
        Some(_) => return None,
    }
    for (name, member) in words.get("properties").and_then(Value::as_object).into_iter().flatten() {
        match made.members.get_mut(name) {
            // Both have to hold.
            Some(known) if known != member => *known = json!({"allOf": [known.take(), member]}),
            Some(_) => {}
            None => drop(made.members.insert(name.clone(), member.clone())),
        }
    }
    for name in words.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        made.required.insert(name.to_owned());
    }
    for one in words.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        gather(schemas, one, made, left)?;
    }
    Some(())
}

/// How the parts of a form are written.
struct Encodings<'d> {
    node: Option<&'d Node>,
    multipart: bool,
}

impl Encodings<'_> {
    fn apply(&self, schemas: &Schemas<'_>, part: &mut Part, part_media_types: &mut BTreeMap<String, String>) {
        let encoding = self.node.and_then(Node::as_object).and_then(|encodings: &Members| encodings.get(&part.name));
        let content_type = encoding.and_then(|encoding| encoding.text("contentType"));
        let content_type = content_type.and_then(|types| types.split(',').next()).map(|first| first.trim().to_owned());
        if self.multipart {
            if let Some(files) = is_file(schemas, &part.schema) {
                let description = part.schema.get("description").and_then(Value::as_str).map(str::to_owned);
                let one = file(description.as_deref());
                part.schema = match files {
                    Files::One => one,
                    Files::Several => json!({"type": "array", "items": one}),
                };
                let media_type = content_type.filter(|media_type| !media_type.contains('*'));
                let media_type = media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                part.serialization = Serialization::File { media_type };
                return;
            }
            if let Some(media_type) = &content_type {
                part_media_types.insert(part.name.clone(), media_type.clone());
            }
        }
        let style = encoding.and_then(|encoding| encoding.text("style")).and_then(named_style);
        let explode = encoding.and_then(|encoding| encoding.get("explode")).and_then(Node::as_bool);
        let resolved = schemas.resolved(&part.schema);
        let is_object =
            types_of(&resolved).is_some_and(|types| types.contains(&"object")) || resolved.get("properties").is_some();
        part.serialization = match (style, content_type) {
            (Some(style), _) => Serialization::Style {
                style,
                explode: explode.unwrap_or(style == Style::Form),
                allow_reserved: encoding.is_some_and(|encoding| encoding.says("allowReserved")),
            },
            (None, Some(media_type)) => Serialization::Content { media_type },
            (None, None) if is_object => Serialization::Content { media_type: "application/json".to_owned() },
            (None, None) if self.multipart => Serialization::Text,
            (None, None) => {
                let explode = explode.unwrap_or(true);
                Serialization::Style { style: Style::Form, explode, allow_reserved: false }
            }
        };
    }
}
