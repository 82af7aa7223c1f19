//! The body of a request: JSON, a form, parts, or bytes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use redress_import::{BodyPlan, Field, Place, RequestPlan, Serialization, Style};
use serde_json::{Map, Value};

use super::{Unsendable, multipart, style};

/// The body with its media type, if there is one.
pub(super) fn body(plan: &RequestPlan, input: &Map<String, Value>) -> Result<Option<(String, Bytes)>, Unsendable> {
    let Some(body) = &plan.body else { return Ok(None) };
    let essence = essence(&body.media_type);
    if !body.of_members {
        let whole = fields(plan).find(|field| field.place == Place::Body);
        let value = whole
            .and_then(|field| field.fixed.as_ref().or_else(|| input.get(&field.field)).map(|value| (field, value)));
        let Some((field, value)) = value else {
            let empty = body.required && is_json(&essence);
            return Ok(empty.then(|| (body.media_type.clone(), Bytes::from_static(b"null"))));
        };
        return whole_body(body, &essence, field, value).map(Some);
    }
    let members = members(plan, body, input);
    if members.is_empty() && !body.required {
        return Ok(None);
    }
    match essence.as_str() {
        "application/x-www-form-urlencoded" => {
            let pairs: Vec<String> = members
                .iter()
                .map(|(name, value, how)| style::pairs(name, value, how))
                .filter(|pairs| !pairs.is_empty())
                .collect();
            Ok(Some((body.media_type.clone(), Bytes::from(pairs.join("&")))))
        }
        _ if essence.starts_with("multipart/") => {
            let (media_type, bytes) = multipart::written(&essence, body, &members)?;
            Ok(Some((media_type, bytes)))
        }
        _ => {
            let object: Map<String, Value> = members.into_iter().map(|(name, value, _)| (name, value)).collect();
            Ok(Some((body.media_type.clone(), Bytes::from(Value::Object(object).to_string()))))
        }
    }
}

/// A member of a body: its name, its value and how it is written.
pub(super) type Member = (String, Value, Serialization);

/// The members of the body that the input has.
fn members(plan: &RequestPlan, body: &BodyPlan, input: &Map<String, Value>) -> Vec<Member> {
    let mut members = Vec::new();
    for field in fields(plan).filter(|field| field.place == Place::BodyMember) {
        if let Some(value) = field.fixed.as_ref().or_else(|| input.get(&field.field)) {
            members.push((field.name.clone(), value.clone(), field.serialization.clone()));
        }
    }
    if body.rest {
        for (name, value) in input {
            if fields(plan).any(|field| field.field == *name || field.place == Place::BodyMember && field.name == *name)
            {
                continue;
            }
            let form = Serialization::Style { style: Style::Form, explode: true, allow_reserved: false };
            let how = if is_json(&essence(&body.media_type)) { Serialization::Json } else { form };
            members.push((name.clone(), value.clone(), how));
        }
    }
    members
}

fn fields(plan: &RequestPlan) -> impl Iterator<Item = &Field> {
    plan.fields.iter().chain(&plan.fixed)
}

/// A body that is one member of the input.
fn whole_body(body: &BodyPlan, essence: &str, field: &Field, value: &Value) -> Result<(String, Bytes), Unsendable> {
    let media_type = body.media_type.clone();
    match (&field.serialization, value) {
        (Serialization::File { .. }, Value::Object(_)) => {
            let file = File::of(&field.field, value)?;
            Ok((file.media_type.unwrap_or(media_type), file.bytes))
        }
        (Serialization::Json | Serialization::Content { .. }, _) if is_json(essence) => {
            Ok((media_type, Bytes::from(value.to_string())))
        }
        (_, Value::Object(members)) if essence == "application/x-www-form-urlencoded" => {
            let form = Serialization::Style { style: Style::Form, explode: true, allow_reserved: false };
            let pairs: Vec<String> = members.iter().map(|(name, value)| style::pairs(name, value, &form)).collect();
            Ok((media_type, Bytes::from(pairs.join("&"))))
        }
        (_, Value::Object(members)) if essence.starts_with("multipart/") => {
            let members: Vec<Member> =
                members.iter().map(|(name, value)| (name.clone(), value.clone(), Serialization::Text)).collect();
            multipart::written(essence, body, &members)
        }
        _ => Ok((media_type, Bytes::from(style::text(value)))),
    }
}

/// A file as an input holds it.
pub(super) struct File {
    pub(super) bytes: Bytes,
    pub(super) filename: Option<String>,
    pub(super) media_type: Option<String>,
}

impl File {
    /// An object with `text` or `base64`, or a plain text.
    pub(super) fn of(field: &str, value: &Value) -> Result<File, Unsendable> {
        let member = |name: &str| value.get(name).and_then(Value::as_str);
        let bytes = match (member("base64"), member("text")) {
            (Some(base64), _) => {
                let bytes = STANDARD.decode(base64.trim());
                bytes.map_err(|_| Unsendable::new(field, "a file whose `base64` is Base64"))?.into()
            }
            (None, Some(text)) => Bytes::copy_from_slice(text.as_bytes()),
            (None, None) => Bytes::from(style::text(value)),
        };
        let plain = |text: &str| !text.chars().any(char::is_control);
        Ok(File {
            bytes,
            filename: member("filename").filter(|text| plain(text)).map(str::to_owned),
            media_type: member("media_type").filter(|text| plain(text)).map(str::to_owned),
        })
    }
}

pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(super) fn is_json(essence: &str) -> bool {
    essence.ends_with("/json") || essence.ends_with("+json") || essence == "*/*"
}
