//! The body of an answer, read with an end and turned into a value.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use redress_contract::Json;
use redress_core::{
    Secret,
    offload::{LARGE, offload},
};
use redress_import::{BodyKind, ContentPlan, ResponsePlan};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION},
};
use serde_json::{Value, json, value::RawValue};

use crate::redact;

/// How deep JSON may nest: as deep as every parser of ours goes.
const MAX_DEPTH: usize = 127;
/// Up to how many bytes an answer is read without asking for room.
const MUCH: usize = 256 * 1024;
/// How much room is asked for where an answer does not say how much it needs.
const UNSAID: usize = 4 * 1024 * 1024;
/// How many characters of a text are told that no document speaks of.
const UNSPOKEN: usize = 4096;

/// An answer, read whole, without the secrets that were sent for it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Where it leads, as the service said it: to be followed, and not to be shown.
    pub(crate) location: Option<HeaderValue>,
    pub(crate) bytes: Vec<u8>,
}

/// Why an answer could not be read whole.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It has more bytes than are read. The size is what its header says, if it says so.
    TooLarge { size: Option<u64> },
    /// It broke off.
    Broken(reqwest::Error),
}

impl Answer {
    /// An answer that has no body by its nature.
    pub(crate) fn without_body(mut response: Response, secrets: &[Secret]) -> Answer {
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let location = headers.get(LOCATION).cloned();
        Answer { status, headers: redact::headers(headers, secrets), location, bytes: Vec::new() }
    }

    /// Reads `response`, of which at most `max` bytes are taken, and takes the `secrets` out of it. Before much is read,
    /// `reserve` waits for room.
    pub(crate) async fn read(
        mut response: Response,
        max: usize,
        secrets: &[Secret],
        reserve: impl AsyncFnOnce(usize),
    ) -> Result<Answer, Unread> {
        // After decompression there may be more, and never less by much: a small answer that says it is large is refused
        // before it is read.
        let said = response.content_length();
        if said.is_some_and(|said| said > max as u64) {
            return Err(Unread::TooLarge { size: said });
        }
        let expected = said.map_or(0, |said| usize::try_from(said).unwrap_or(0)).min(1024 * 1024);
        let mut bytes = Vec::with_capacity(expected);
        let mut reserve = Some(reserve);
        if let Some(reserve) = reserve.take_if(|_| expected > MUCH) {
            reserve(expected.saturating_mul(2)).await;
        }
        while let Some(chunk) = response.chunk().await.map_err(Unread::Broken)? {
            if bytes.len() + chunk.len() > max {
                return Err(Unread::TooLarge { size: None });
            }
            bytes.extend_from_slice(&chunk);
            if let Some(reserve) = reserve.take_if(|_| bytes.len() > MUCH) {
                reserve(max.min(UNSAID)).await;
            }
        }
        let whole = Answer::without_body(response, secrets);
        let bytes = if bytes.len() > LARGE && !secrets.is_empty() {
            let secrets = secrets.to_vec();
            offload(move || redact::without(bytes, &secrets)).await
        } else {
            redact::without(bytes, secrets)
        };
        Ok(Answer { bytes, ..whole })
    }

    /// The media type, without parameters and in lower case.
    pub(crate) fn essence(&self) -> String {
        let text = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Whether it is a page for a person, whatever it says it is.
    fn is_page(&self) -> bool {
        let start = self.bytes.trim_ascii_start();
        self.essence() == "text/html" || start.first() == Some(&b'<') && !self.essence().contains("xml")
    }
}

/// What a body is, by its plan.
#[derive(Debug)]
pub(crate) enum Body {
    /// There is none.
    None,
    /// JSON, as it came.
    Json(Json),
    /// Anything else, as a value.
    Value(Value),
}

impl Body {
    /// The body as a value.
    pub(crate) fn into_value(self) -> Option<Value> {
        match self {
            Body::None => None,
            Body::Json(json) => serde_json::from_str(json.get()).ok(),
            Body::Value(value) => Some(value),
        }
    }
}

/// Why a body is not what its plan says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is of another media type than was promised.
    ContentType,
    /// It is no JSON, and JSON was promised.
    Json,
}

impl Unfit {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Unfit::ContentType => "content_type",
            Unfit::Json => "json",
        }
    }
}

/// The body of `answer` as `plan` says that it is.
pub(crate) fn body(plan: &ResponsePlan, answer: &mut Answer) -> Result<Body, Unfit> {
    if answer.bytes.is_empty() {
        // A promise of JSON is not kept by nothing, unless nothing is the answer.
        return Ok(Body::None);
    }
    let said = answer.essence();
    let promised_json = plan.content.iter().any(|content| is_json(content.kind));
    let content = plan.content_of(&said);
    if promised_json && content.is_none_or(|content| is_json(content.kind)) {
        if answer.is_page() {
            return Err(Unfit::ContentType);
        }
        // Some services send JSON under another name; what is JSON counts as such.
        let unfit = if content.is_some() || said.is_empty() { Unfit::Json } else { Unfit::ContentType };
        return json(std::mem::take(&mut answer.bytes)).map(Body::Json).map_err(|bytes| {
            answer.bytes = bytes;
            unfit
        });
    }
    match content {
        Some(content) => Ok(Body::Value(value(content, &said, &answer.bytes))),
        None if plan.content.is_empty() => Ok(unspoken(&said, &answer.bytes)),
        None => Err(Unfit::ContentType),
    }
}

/// A body of which the document says nothing.
fn unspoken(said: &str, bytes: &[u8]) -> Body {
    let looks_like_json = said.is_empty() || said.ends_with("json");
    if looks_like_json && let Ok(json) = json(bytes.to_vec()) {
        return Body::Json(json);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Body::Value(text.chars().take(UNSPOKEN).collect::<String>().into()),
        Err(_) => Body::None,
    }
}

fn is_json(kind: BodyKind) -> bool {
    match kind {
        BodyKind::Json | BodyKind::Problem => true,
        BodyKind::Text | BodyKind::Form | BodyKind::Events | BodyKind::JsonLines | BodyKind::Bytes => false,
    }
}

fn value(content: &ContentPlan, said: &str, bytes: &[u8]) -> Value {
    let text = || String::from_utf8_lossy(bytes);
    match content.kind {
        BodyKind::Form => {
            let pairs = reqwest::Url::parse(&format!("form:?{}", text().trim_start_matches('?')));
            let pairs = pairs.map(|url| {
                url.query_pairs().map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect()
            });
            Value::Object(pairs.unwrap_or_default())
        }
        BodyKind::Text | BodyKind::Events => text().into_owned().into(),
        BodyKind::JsonLines => {
            let lines = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
            lines.map_while(Result::ok).collect::<Vec<Value>>().into()
        }
        BodyKind::Json | BodyKind::Problem | BodyKind::Bytes => {
            let media_type = if said.is_empty() { content.essence() } else { said.to_owned() };
            json!({"media_type": media_type, "base64": STANDARD.encode(bytes)})
        }
    }
}

/// JSON as it came, or the bytes that are none.
pub(crate) fn json(bytes: Vec<u8>) -> Result<Json, Vec<u8>> {
    let text = String::from_utf8(bytes).map_err(|error| error.into_bytes())?;
    let text = match text.strip_prefix('\u{feff}') {
        Some(without_mark) => without_mark.to_owned(),
        None => text,
    };
    if is_deep(text.as_bytes()) || serde_json::from_str::<&RawValue>(&text).is_err() {
        return Err(text.into_bytes());
    }
    Ok(Json::from_written(text))
}

/// Whether it nests deeper than parsers go.
fn is_deep(json: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// A wait as callers are told it.
pub(crate) fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use redress_contract::Schema;
    use redress_import::StatusPattern;
    use reqwest::header::HeaderValue;

    use super::*;

    fn plan(contents: &[(&str, BodyKind)]) -> ResponsePlan {
        let content = |(media_type, kind): &(&str, BodyKind)| ContentPlan {
            media_type: (*media_type).to_owned(),
            kind: *kind,
            schema: Schema::anything(),
        };
        ResponsePlan {
            status: StatusPattern::Exact(200),
            code: None,
            content: contents.iter().map(content).collect(),
            headers: Vec::new(),
            reasons: Vec::new(),
            bound: Vec::new(),
            derived: false,
        }
    }

    fn read(plan: &ResponsePlan, media_type: &str, bytes: &[u8]) -> Result<Option<Value>, Unfit> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(media_type).unwrap());
        body(plan, &mut Answer { status: 200, headers, location: None, bytes: bytes.to_vec() }).map(Body::into_value)
    }

    #[test]
    fn a_body_is_read_as_its_plan_says() {
        let json_plan = plan(&[("application/json", BodyKind::Json)]);
        assert_eq!(read(&json_plan, "application/json; charset=utf-8", b"{\"a\":1}"), Ok(Some(json!({"a": 1}))));
        assert_eq!(read(&json_plan, "text/plain", b"[1]"), Ok(Some(json!([1]))));
        assert_eq!(read(&json_plan, "application/problem+json", b"{}"), Ok(Some(json!({}))));
        assert_eq!(read(&json_plan, "application/json", b"\xef\xbb\xbf{}"), Ok(Some(json!({}))));
        assert_eq!(read(&json_plan, "application/json", b""), Ok(None));
        let text = plan(&[("text/*", BodyKind::Text)]);
        assert_eq!(read(&text, "text/csv", b"a,b"), Ok(Some(json!("a,b"))));
        let form = plan(&[("application/x-www-form-urlencoded", BodyKind::Form)]);
        assert_eq!(
            read(&form, "application/x-www-form-urlencoded", b"a=b%20c&d=e"),
            Ok(Some(json!({"a": "b c", "d": "e"})))
        );
        let bytes = plan(&[("image/png", BodyKind::Bytes)]);
        assert_eq!(read(&bytes, "image/png", &[0xff]), Ok(Some(json!({"media_type": "image/png", "base64": "/w=="}))));
    }

    #[test]
    fn what_is_not_what_was_promised_is_said_to_be_so() {
        let json_plan = plan(&[("application/json", BodyKind::Json)]);
        let page = b"<!doctype html><title>Sign in</title>";
        assert_eq!(read(&json_plan, "text/html", page), Err(Unfit::ContentType));
        assert_eq!(read(&json_plan, "application/json", page), Err(Unfit::ContentType));
        assert_eq!(read(&json_plan, "application/json", b"{\"a\":"), Err(Unfit::Json));
        assert_eq!(read(&json_plan, "application/json", b"\"\xff\""), Err(Unfit::Json));
        assert_eq!(read(&json_plan, "text/plain", b"no json"), Err(Unfit::ContentType));
        assert_eq!(read(&json_plan, "application/json", "[".repeat(200).as_bytes()), Err(Unfit::Json));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(read(&json_plan, "application/json", deep.as_bytes()), Err(Unfit::Json));
        let bytes = plan(&[("image/png", BodyKind::Bytes)]);
        assert_eq!(read(&bytes, "application/json", b"{}"), Err(Unfit::ContentType));
    }
}
