//! Answers that come bit by bit: server-sent events, and JSON one text after the other.

use std::{collections::VecDeque, sync::Arc};

use redress_contract::Effect;
use redress_core::{DynamicFailure, Events, Fail, Outcome, UpstreamFailure};
use redress_import::{BodyKind, ResponsePlan};
use reqwest::{Response, header::CONTENT_TYPE};
use serde_json::{Map, Value, json};

use crate::{
    body::{Answer, Unread},
    exchange::Open,
    gate::GatePermit,
    outcome::{outcome, undeclared},
    planned::Planned,
    redact,
    upstream::{Inner, Secrets},
};

/// The most bytes that one item may have.
const MAX: usize = 1024 * 1024;

/// The items of an open answer.
pub(crate) async fn events(
    inner: &Arc<Inner>,
    planned: &Arc<Planned>,
    open: Open,
) -> Outcome<Events<Value, DynamicFailure>, DynamicFailure> {
    let Open { response, attempt, permit, .. } = open;
    let said =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let status = response.status().as_u16();
    let plan = planned.imported.response(status);
    // Where the items have a member `data`, they are the events, and not what is in them alone.
    let whole = planned.imported.operation.output().property("data").is_some();
    let Some(kind) = plan.and_then(|plan| streamed(plan, &said)) else {
        // It is one answer, and no stream.
        let read = Answer::read(response, inner.config.max_response, &inner.credentials.sent(), async |_| {}).await;
        attempt.answered();
        return match read {
            Ok(answer) => {
                let failure = undeclared(&inner.config.name, &answer, "content_type").with_effect(planned.effect());
                match outcome(inner, planned, &Map::new(), answer) {
                    Err(failed) => Err(failed),
                    Ok(_) => Err(failure.into()),
                }
            }
            Err(Unread::TooLarge { .. } | Unread::Broken(_)) => Err(broken(inner).into()),
        };
    };
    attempt.answered();
    let reader = Reader {
        inner: Arc::clone(inner),
        response,
        secrets: inner.credentials.sent().into(),
        buffer: Vec::new(),
        ready: VecDeque::new(),
        kind,
        whole,
        done: false,
        _permit: permit,
    };
    Ok(Events::new(futures_util::stream::unfold(reader, async |mut reader| {
        reader.next().await.map(|item| (item, reader))
    })))
}

/// How the items are written that `plan` says come under this media type.
fn streamed(plan: &ResponsePlan, said: &str) -> Option<BodyKind> {
    let content = plan.content_of(said)?;
    matches!(content.kind, BodyKind::Events | BodyKind::JsonLines).then_some(content.kind)
}

fn broken(inner: &Inner) -> UpstreamFailure {
    inner.note("broken");
    UpstreamFailure::unreachable(Effect::None).with_details(json!({"upstream": inner.config.name, "reason": "broken"}))
}

struct Reader {
    inner: Arc<Inner>,
    response: Response,
    secrets: Secrets,
    buffer: Vec<u8>,
    ready: VecDeque<Value>,
    kind: BodyKind,
    /// Whether an item is the event, and not its data alone.
    whole: bool,
    done: bool,
    _permit: GatePermit,
}

impl Reader {
    async fn next(&mut self) -> Option<Outcome<Value, DynamicFailure>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            if self.done {
                return None;
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => {
                    self.buffer.extend_from_slice(&chunk);
                    self.take();
                    if self.buffer.len() > MAX {
                        self.done = true;
                        let details = json!({"upstream": self.inner.config.name, "reason": "item_too_large"});
                        return Some(Err(UpstreamFailure::undeclared().with_details(details).into()));
                    }
                }
                Ok(None) => {
                    self.done = true;
                    self.buffer.extend_from_slice(b"\n\n");
                    self.take();
                }
                Err(error) => {
                    self.done = true;
                    return Some(Err(Fail::from(broken(&self.inner).with_cause(error.without_url()))));
                }
            }
        }
    }

    /// Takes the items out of the buffer that are whole.
    fn take(&mut self) {
        while let Some(end) = self.end() {
            let bytes: Vec<u8> = self.buffer.drain(..end).collect();
            let bytes = redact::without(bytes, &self.secrets);
            let text = String::from_utf8_lossy(&bytes);
            let item = if self.kind == BodyKind::Events { event(&text, self.whole) } else { line(&text) };
            self.ready.extend(item);
        }
    }

    /// Where the first item ends.
    fn end(&self) -> Option<usize> {
        if self.kind != BodyKind::Events {
            return memchr::memchr(b'\n', &self.buffer).map(|at| at + 1);
        }
        let ends: [&[u8]; 3] = [b"\n\n", b"\r\n\r\n", b"\r\r"];
        ends.iter().filter_map(|end| Some(memchr::memmem::find(&self.buffer, end)? + end.len())).min()
    }
}

/// One line of JSON, which may begin with a record separator (RFC 7464).
fn line(text: &str) -> Option<Value> {
    let text = text.trim().trim_start_matches('\u{1e}').trim();
    if text.is_empty() { None } else { Some(serde_json::from_str(text).unwrap_or_else(|_| text.into())) }
}

/// One event. What has no data is a comment, or a sign of life.
fn event(text: &str, whole: bool) -> Option<Value> {
    let (mut data, mut members) = (Vec::new(), Map::new());
    for line in text.trim_start_matches('\u{feff}').lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => data.push(value),
            "event" | "id" => {
                members.insert(name.to_owned(), value.into());
            }
            "retry" => {
                if let Ok(ms) = value.parse::<u64>() {
                    members.insert(name.to_owned(), ms.into());
                }
            }
            _ => {}
        }
    }
    if data.is_empty() {
        return None;
    }
    let data = data.join("\n");
    if whole {
        members.insert("data".to_owned(), data.into());
        return Some(members.into());
    }
    Some(serde_json::from_str(&data).unwrap_or_else(|_| data.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_its_data_or_the_whole_of_it() {
        let text = "event: tick\nid: 7\ndata: {\"n\":\ndata: 1}\n\n";
        assert_eq!(event(text, false), Some(json!({"n": 1})));
        assert_eq!(event(text, true), Some(json!({"event": "tick", "id": "7", "data": "{\"n\":\n1}"})));
        assert_eq!(event("data: [DONE]\n\n", false), Some(json!("[DONE]")));
        assert_eq!(event(": still there\n\n", false), None);
        assert_eq!(line("\u{1e}{\"a\":1}\n"), Some(json!({"a": 1})));
        assert_eq!(line("\n"), None);
    }
}
