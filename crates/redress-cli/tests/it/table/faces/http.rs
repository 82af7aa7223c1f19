//! A message over HTTP, and its answer.

use reqwest::{Response, header::HeaderMap};
use serde_json::Value;

use crate::table::{outcome::Outcome, rows::Row, site::Site};

/// An answer, every byte of which the canaries have seen.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

/// Headers that a protocol has of its own.
pub(super) type Headers<'a> = [(&'static str, &'a str)];

/// A message with this body, or a `GET` with none.
async fn send(site: &Site, row: &Row, path: &str, body: Option<&str>, headers: &Headers<'_>) -> Response {
    let url = format!("http://{}{path}", site.address(row.who));
    let mut request = match body {
        Some(body) => site.client.post(url).header("content-type", "application/json").body(body.to_owned()),
        None => site.client.get(url),
    };
    if let Some(ms) = row.deadline_ms {
        request = request.header("redress-deadline-ms", ms);
    }
    if let Some(key) = row.key {
        request = request.header("idempotency-key", key);
    }
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.unwrap()
}

/// Sends a message and reads the whole answer.
pub(super) async fn ask(face: &str, site: &Site, row: &Row, path: &str, body: Option<&str>) -> Answer {
    ask_with(face, site, row, path, body, &[]).await
}

/// Sends a message with these headers and reads the whole answer.
pub(super) async fn ask_with(
    face: &str,
    site: &Site,
    row: &Row,
    path: &str,
    body: Option<&str>,
    headers: &Headers<'_>,
) -> Answer {
    let response = send(site, row, path, body, headers).await;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    site.check(face, format!("{headers:?}"));
    site.check(face, &text);
    Answer { status, headers, text }
}

/// Sends a message and hangs up once its handler runs.
pub(super) async fn leave(site: &Site, row: &Row, path: &str, body: Option<&str>) -> Option<Outcome> {
    leave_with(site, row, path, body, &[]).await
}

/// Sends a message with these headers and hangs up once its handler runs.
pub(super) async fn leave_with(
    site: &Site,
    row: &Row,
    path: &str,
    body: Option<&str>,
    headers: &Headers<'_>,
) -> Option<Outcome> {
    // What has been answered so far is held until then: the head of a stream comes at once.
    let mut answered = None;
    let asking = async {
        answered = Some(send(site, row, path, body, headers).await);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = asking => {}
        () = site.marks.begun() => {}
    }
    drop(answered);
    None
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// That status and headers say what the envelope says.
    pub(super) fn agrees_with(&self, envelope: &Value) {
        assert_eq!(u64::from(self.status), envelope["http"].as_u64().unwrap_or(200), "{envelope}");
        assert_eq!(self.header("x-request-id"), envelope["_meta"]["request_id"].as_str(), "{envelope}");
        // HTTP gives the header a meaning under these two only.
        let known = envelope["retry_after_ms"].as_u64().map(|ms| ms.div_ceil(1000));
        let wait = known.or_else(|| (envelope["retryable"] == true).then_some(1));
        let seconds = wait.filter(|_| matches!(self.status, 429 | 503)).map(|seconds| seconds.to_string());
        assert_eq!(self.header("retry-after"), seconds.as_deref(), "{envelope}");
        let asks = self.status == 401 || envelope["recovery"]["verb"] == "get_access";
        assert_eq!(self.header("www-authenticate").is_some(), asks, "{envelope}");
    }

    /// The outcome of a stream of server-sent events.
    pub(super) fn stream(&self) -> Outcome {
        assert_eq!((self.status, self.header("content-type")), (200, Some("text/event-stream")));
        let mut items = Vec::new();
        for block in self.text.split_terminator("\n\n") {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            let Some(data) = field("data") else { continue };
            let data: Value = serde_json::from_str(data).unwrap();
            match field("event") {
                None => {
                    items.push(data);
                    assert_eq!(field("id"), Some(items.len().to_string().as_str()), "items are numbered from one");
                }
                Some("end" | "error") => {
                    assert!(self.text.ends_with(&format!("{block}\n\n")), "nothing comes after the end");
                    assert_eq!(self.header("x-request-id"), data["_meta"]["request_id"].as_str());
                    return Outcome::envelope(data).after(items);
                }
                Some(other) => panic!("there are no `{other}` events"),
            }
        }
        panic!("the stream has no end: {self:?}")
    }
}
