//! `POST /mcp`: lines of headers, an empty line, and a message.

use axum::http::{HeaderName, HeaderValue, Method};
use redress_wire::mcp::{Era, ProtocolError};
use serde_json::Value;

use crate::{
    oracle,
    service::{self, Answer},
};

/// The numbers that the protocol has for what goes wrong before there is a call.
const NUMBERS: [i32; 9] = [
    ProtocolError::Parse.number(),
    ProtocolError::InvalidRequest.number(),
    ProtocolError::MethodNotFound.number(),
    ProtocolError::InvalidParams.number(),
    ProtocolError::Internal.number(),
    ProtocolError::ResourceNotFound(Era::Legacy).number(),
    ProtocolError::HeaderMismatch.number(),
    ProtocolError::MissingCapability.number(),
    ProtocolError::UnsupportedVersion.number(),
];

pub(super) fn target(data: &[u8]) {
    let end = data.windows(2).position(|window| window == b"\n\n");
    let (head, body) = end.map_or((&b""[..], data), |end| (&data[..end], &data[end + 2..]));
    let mut request = service::post("/mcp", body);
    request.headers_mut().insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    for line in head.split(|byte| *byte == b'\n').take(16) {
        if let Ok(method) = Method::from_bytes(line) {
            *request.method_mut() = method;
            continue;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { continue };
        let name = HeaderName::from_bytes(name.trim_ascii());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.trim_ascii())) {
            request.headers_mut().insert(name, value);
        }
    }
    let posted = request.method() == Method::POST;
    let sent: Option<Value> = serde_json::from_slice(body).ok();
    service::talk(async |service| {
        let answer = service.send(request).await;
        oracle::bounded(&answer.body, data);
        oracle::clean(&answer.body);
        let media = answer.headers.get("content-type").map(|value| value.as_bytes());
        match media {
            Some(b"application/problem+json") => {
                oracle::plain(&service.registry, &answer);
            }
            Some(b"text/event-stream") => {
                let text = std::str::from_utf8(&answer.body).expect("a stream is text");
                for data in text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty())
                {
                    message(&oracle::json(data.as_bytes()), None);
                }
            }
            Some(b"application/json") => message(&oracle::json(&answer.body), sent.as_ref().filter(|_| posted)),
            _ => spoken(&answer),
        }
    });
}

/// What is no JSON: nothing, or a few plain words.
#[track_caller]
fn spoken(answer: &Answer) {
    assert!(answer.body.len() < 200, "{answer:?}");
    assert!(answer.body.is_empty() || answer.status >= 400, "{answer:?}");
}

/// One message of the server. `asked` is what it answers, where that is known.
#[track_caller]
pub(super) fn message(value: &Value, asked: Option<&Value>) {
    assert_eq!(value["jsonrpc"], "2.0", "{value}");
    if value.get("method").is_some() {
        assert!(value["method"].is_string(), "{value}");
        return;
    }
    let id = value.get("id").unwrap_or_else(|| panic!("an answer has an id: {value}"));
    if let Some(asked) = asked.and_then(|asked| asked.get("id")).filter(|id| id.is_string() || id.is_i64()) {
        assert!(id == asked || id.is_null(), "{asked} is answered with {value}");
    }
    assert!(value.get("result").is_some() != value.get("error").is_some(), "{value}");
    if let Some(error) = value.get("error") {
        let number = error["code"].as_i64().unwrap_or_default();
        assert!(NUMBERS.iter().any(|known| i64::from(*known) == number), "{value}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{value}");
    }
    let result = &value["result"];
    if result["isError"] == true {
        let told = &result["_meta"]["dev.redress/error"];
        assert_eq!(told["ok"], false, "{value}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(told["code"].as_str().unwrap_or("no code")), "the text alone has to be enough: {value}");
    }
}
