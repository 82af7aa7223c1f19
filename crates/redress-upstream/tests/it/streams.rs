//! Services that answer bit by bit.

use std::time::Duration;

use futures_util::StreamExt as _;
use redress_core::Event;
use redress_upstream::Upstream;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::mock::{Reply, Service, config, imported, raw, registry, request};

const TICKS: &str = r#"
openapi: 3.1.0
info: {title: Ticks, version: "1"}
paths:
  /ticks:
    get:
      operationId: watchTicks
      responses:
        200: {description: Ticks., content: {text/event-stream: {schema: {type: object, properties: {n: {type: integer}}}}}}
        404: {description: None., content: {application/json: {schema: {type: object}}}}
"#;

/// A stream that is asked for by POST may have begun something: it is not asked for again, and nobody is told that it is safe to.
#[tokio::test]
async fn a_stream_that_may_have_begun_something_is_not_asked_for_again() {
    let (service, address) = Service::start([Reply::of(503, "", "")]).await;
    for (method, asked, effect, retry) in [("get:", 3, "none", "safe"), ("post:", 1, "unknown", "unsafe")] {
        let before = service.asked().len();
        let upstream = Upstream::new(imported(&TICKS.replace("get:", method)), config(address)).unwrap();
        let failed = registry([upstream]).subscribe("ticks.watch_ticks", request(json!({}))).await.err().unwrap();
        let problem: Value = serde_json::from_slice(&failed.into_bytes()).unwrap();
        assert_eq!(service.asked().len() - before, asked, "{method}");
        assert_eq!((&problem["effect"], &problem["retry"]), (&json!(effect), &json!(retry)), "{method} {problem}");
    }
}

async fn read(address: std::net::SocketAddr) -> (Vec<Value>, Option<String>) {
    let upstream = Upstream::new(imported(TICKS), config(address)).unwrap();
    let registry = registry([upstream]);
    let mut subscription = match registry.subscribe("ticks.watch_ticks", request(json!({}))).await {
        Ok(subscription) => subscription,
        Err(envelope) => return (Vec::new(), envelope.code().map(str::to_owned)),
    };
    let mut items = Vec::new();
    loop {
        match tokio::time::timeout(Duration::from_secs(10), subscription.next()).await.expect("an event comes") {
            Some(Event::Item(output)) => items.push(serde_json::from_slice(output.json()).unwrap()),
            Some(Event::Failed(envelope)) => return (items, envelope.code().map(str::to_owned)),
            Some(Event::Completed(_)) | None => return (items, None),
        }
    }
}

#[tokio::test]
async fn events_come_as_they_are_sent() {
    let address = raw(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
        for part in ["data: {\"n\"", ":1}\n\n: alive\n\ndata: {\"n\":2}\n", "\n", "data: {\"n\":3}\n\n"] {
            let _ = stream.write_all(part.as_bytes()).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(read(address).await, (vec![json!({"n": 1}), json!({"n": 2}), json!({"n": 3})], None));
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_badly() {
    let address = raw(|mut stream| async move {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = stream.write_all(b"f\r\ndata: {\"n\":1}\n\n\r\n").await;
    })
    .await;
    let (items, code) = read(address).await;
    assert_eq!((items, code.as_deref()), (vec![json!({"n": 1})], Some("UPSTREAM_UNREACHABLE")));
}

#[tokio::test]
async fn a_stream_that_is_refused_is_a_declared_failure() {
    let (_, address) = Service::start([Reply::json(404, &json!({}))]).await;
    assert_eq!(read(address).await.1.as_deref(), Some("HTTP_404"));
    let (_, address) = Service::start([Reply::of(200, "text/html", "<h1>Sign in</h1>")]).await;
    assert_eq!(read(address).await.1.as_deref(), Some("UPSTREAM_UNDECLARED"));
}
