//! What the answers of each way say about how a call ended.

use bytes::{Bytes, BytesMut};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::http::Reply;
use crate::{
    ending::{Ending, shortened},
    plan::Message,
};

/// An answer that was read to its end.
pub(crate) struct Whole {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// Whether the body is a stream of events.
    pub(crate) events: bool,
}

impl Whole {
    /// The document; in a stream of events that of the last one.
    fn document(&self) -> Value {
        if !self.events {
            return serde_json::from_slice(&self.body).unwrap_or_default();
        }
        let text = String::from_utf8_lossy(&self.body);
        let last = text.lines().rev().find_map(|line| line.strip_prefix("data:"));
        last.and_then(|data| serde_json::from_str(data.trim_start()).ok()).unwrap_or_default()
    }

    fn unread(&self) -> Ending {
        let text = String::from_utf8_lossy(&self.body);
        Ending::Cut(format!("an answer that cannot be read: {} {text:.200}", self.status))
    }
}

/// An answer of an operation's own path: the output, or a problem document.
pub(crate) fn of_path(whole: &Whole) -> Ending {
    let document = whole.document();
    if whole.status.is_success() { Ending::Output(document) } else { of_failure(whole, &document) }
}

fn of_failure(whole: &Whole, document: &Value) -> Ending {
    let ending = Ending::of_envelope(document);
    match ending {
        Ending::Failure(_) => ending,
        Ending::Output(_) | Ending::Cut(_) | Ending::Silent => whole.unread(),
    }
}

/// An answer that is an envelope.
pub(crate) fn of_envelope(whole: &Whole) -> Ending {
    Ending::of_envelope(&whole.document())
}

/// An answer of `/batch`: an envelope for each call, or one for all of them.
pub(crate) fn of_batch(whole: &Whole, message: &Message) -> Vec<Ending> {
    let document = whole.document();
    let count = message.calls.len();
    match document.as_array() {
        Some(envelopes) if envelopes.len() == count => envelopes
            .iter()
            .enumerate()
            .map(|(place, envelope)| {
                let named = envelope["_meta"]["request_id"].as_str();
                match named {
                    Some(named) if named == message.call_id(place) => Ending::of_envelope(envelope),
                    _ => Ending::Cut(format!("an answer to {named:?} came for {}", message.call_id(place))),
                }
            })
            .collect(),
        Some(envelopes) => {
            vec![Ending::Cut(format!("{} answers to {count} calls", envelopes.len())); count]
        }
        None => vec![of_failure(whole, &document); count],
    }
}

/// An answer of `/rpc`.
pub(crate) fn of_rpc(whole: &Whole) -> Ending {
    let document = whole.document();
    match (document.get("result"), document.get("error")) {
        (Some(result), None) => Ending::Output(result.clone()),
        (None, Some(error)) => Ending::of_envelope(&error["data"]),
        (Some(_), Some(_)) | (None, None) => of_failure(whole, &document),
    }
}

/// An answer of `/mcp`.
pub(crate) fn of_mcp(whole: &Whole, stream: bool) -> Ending {
    let document = whole.document();
    let result = &document["result"];
    if result["isError"] == true {
        return Ending::of_envelope(&result["_meta"]["dev.redress/error"]);
    }
    match (&result["structuredContent"], document.get("error")) {
        (Value::Null, Some(error)) => Ending::of_envelope(&error["data"]),
        (Value::Null, None) => of_failure(whole, &document),
        (output, _) if stream && output["complete"] == true => {
            Ending::Output(json!({"items": output["items"].as_array().map_or(0, Vec::len)}))
        }
        (output, _) if stream => Ending::Cut(format!("a stream that was cut: {}", shortened(&output["cut"]))),
        (output, _) => Ending::Output(output.clone()),
    }
}

/// A stream of events that is read to its end, with its items counted.
pub(crate) async fn of_stream(reply: &mut Reply) -> Result<Ending, String> {
    let mut text = BytesMut::new();
    let mut items = 0_u64;
    while let Some(piece) = reply.piece().await {
        text.extend_from_slice(&piece?);
        while let Some(end) = text.windows(2).position(|two| two == b"\n\n") {
            let event = text.split_to(end + 2);
            let event = String::from_utf8_lossy(&event);
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start);
            let data = || field("data:").and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
            match field("event:") {
                Some("end") => return Ok(Ending::Output(json!({"items": items}))),
                Some("error") => return Ok(Ending::of_envelope(&data())),
                Some(other) => return Err(format!("an event that is not known: {other}")),
                None if field("data:").is_some() => {
                    let item: Value = data();
                    if item["number"] != items {
                        return Err(format!("item {} came in the place of {items}", item["number"]));
                    }
                    items += 1;
                }
                // A comment shows that a silent stream is there.
                None => {}
            }
        }
    }
    Err("the stream ended without its last event".to_owned())
}
