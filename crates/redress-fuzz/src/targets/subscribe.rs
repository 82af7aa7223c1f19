//! `POST /subscribe`: a line with the last event that was seen, and the body.

use axum::http::HeaderValue;
use redress::Registry;

use super::cut;
use crate::{
    oracle,
    service::{self, Answer},
};

pub(super) fn target(data: &[u8]) {
    let (last, body) = cut(data);
    service::talk(async |service| {
        let mut request = service::post("/subscribe", body);
        if let Ok(last) = HeaderValue::from_bytes(last)
            && !last.is_empty()
        {
            request.headers_mut().insert("last-event-id", last);
        }
        let answer = service.send(request).await;
        oracle::bounded(&answer.body, data);
        if answer.headers["content-type"] == "text/event-stream" {
            stream(&service.registry, &answer);
        } else {
            let ending = oracle::enveloped(&service.registry, &answer);
            assert!(ending.code().is_some(), "what ends well is a stream: {ending:?}");
        }
    });
}

/// A stream: events that are numbered one after the other, and one that is its end.
#[track_caller]
pub(super) fn stream(registry: &Registry, answer: &Answer) {
    oracle::clean(&answer.body);
    assert_eq!(answer.status, 200);
    let text = std::str::from_utf8(&answer.body).expect("a stream is text");
    let mut seen: Option<u64> = None;
    let mut ended = false;
    for block in text.split_terminator("\n\n").filter(|block| !block.starts_with(':')) {
        assert!(!ended, "something follows the end: {block}");
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let data = oracle::json(field("data").unwrap_or_else(|| panic!("no data: {block}")).as_bytes());
        match field("event") {
            None => {
                let id: u64 = field("id").and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("no id: {block}"));
                assert!(seen.is_none_or(|seen| id == seen.saturating_add(1)), "{id} after {seen:?}");
                seen = Some(id);
            }
            Some("end") => {
                assert_eq!(data["ok"], true, "{block}");
                ended = true;
            }
            Some("error") => {
                assert!(oracle::envelope(registry, &data).code().is_some(), "{block}");
                ended = true;
            }
            Some(other) => panic!("there is no event {other}"),
        }
    }
    assert!(ended, "the stream has no end: {text}");
}
