//! Bodies of several parts (RFC 7578, RFC 2046).

use bytes::Bytes;
use redress_import::{BodyPlan, Serialization};
use serde_json::Value;

use super::{
    Unsendable,
    body::{File, Member},
    style,
};

/// The body with its media type, which names the boundary.
pub(super) fn written(essence: &str, body: &BodyPlan, members: &[Member]) -> Result<(String, Bytes), Unsendable> {
    let boundary = format!("redress-{:032x}", fastrand::u128(..));
    let mut bytes = Vec::new();
    for (name, value, how) in members {
        // An array of parts is the part once for each item.
        let items: &[Value] = match (value, how) {
            (Value::Array(items), Serialization::File { .. } | Serialization::Text | Serialization::Style { .. }) => {
                items
            }
            _ => std::slice::from_ref(value),
        };
        for item in items {
            part(&mut bytes, &boundary, body, name, item, how)?;
        }
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((format!("{essence}; boundary={boundary}"), bytes.into()))
}

fn part(
    bytes: &mut Vec<u8>,
    boundary: &str,
    body: &BodyPlan,
    name: &str,
    value: &Value,
    how: &Serialization,
) -> Result<(), Unsendable> {
    let fixed = body.part_media_types.get(name).cloned();
    let (media_type, filename, content): (Option<String>, Option<String>, Bytes) = match how {
        Serialization::File { media_type } => {
            let file = File::of(name, value)?;
            let filename = file.filename.unwrap_or_else(|| name.to_owned());
            (Some(file.media_type.or(fixed).unwrap_or_else(|| media_type.clone())), Some(filename), file.bytes)
        }
        Serialization::Json => {
            (Some(fixed.unwrap_or_else(|| "application/json".to_owned())), None, value.to_string().into())
        }
        Serialization::Content { media_type } => {
            let json = media_type.ends_with("json");
            let text = if json { value.to_string() } else { style::text(value) };
            (Some(fixed.unwrap_or_else(|| media_type.clone())), None, text.into())
        }
        Serialization::Text | Serialization::Style { .. } => (fixed, None, style::text(value).into()),
    };
    bytes.extend_from_slice(
        format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{}\"", quoted(name)).as_bytes(),
    );
    if let Some(filename) = filename {
        bytes.extend_from_slice(format!("; filename=\"{}\"", quoted(&filename)).as_bytes());
    }
    if let Some(media_type) = media_type.filter(|text| !text.chars().any(char::is_control)) {
        bytes.extend_from_slice(format!("\r\ncontent-type: {media_type}").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes.extend_from_slice(&content);
    bytes.extend_from_slice(b"\r\n");
    Ok(())
}

/// A name as it may stand between quotes (RFC 7578, 2; WHATWG): nothing in it ends the header.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
