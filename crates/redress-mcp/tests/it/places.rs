//! What one caller may hold open, and what is left to the others.

use std::{sync::Arc, time::Duration};

use redress_core::testing::Canary;
use redress_mcp::{HttpOptions, Mcp, McpOptions};
use redress_serve::{Faces, Server, ServerHandle, ServerLimits};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::timeout};

use crate::{
    access::Tokens,
    demo,
    service::{LEGACY, MODERN, failure, message},
};

const PATIENCE: Duration = Duration::from_secs(20);
const SESSION: &str = "mcp-session-id";

/// A server that knows Ada and Bob.
struct Served {
    url: String,
    client: reqwest::Client,
    handle: ServerHandle,
}

impl Served {
    /// One where each of them has so many places, and all together so many for streams of changes.
    async fn with(streams: usize, max_sessions: usize) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let registry = demo::build(&Canary::new(), &Arc::default(), |builder| builder.identity(Tokens));
        let (mut limits, mut http) = (ServerLimits::default(), HttpOptions::default());
        (limits.streams, http.max_sessions) = (streams, max_sessions);
        let mut options = McpOptions::default();
        options.subscriptions = true;
        let face = Mcp::new(registry.clone(), options).unwrap();
        let server = Server::new(Faces::new(registry).mcp(face).limits(limits).mcp_http(http)).listener(listener);
        let server = server.bind().await.unwrap();
        let handle = server.handle();
        tokio::spawn(server.run(std::future::pending()));
        Served { url, client: reqwest::Client::new(), handle }
    }

    async fn send(&self, method: Method, who: &str, body: String, headers: &[(&str, &[u8])]) -> Response {
        let request = self.client.request(method, &self.url).bearer_auth(who).body(body);
        let request = request.header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        timeout(PATIENCE, request.send()).await.unwrap().unwrap()
    }

    async fn ask(&self, who: &str, version: &str, method: &str, params: Value) -> Response {
        let (body, headers) = message(version, method, params);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        self.send(Method::POST, who, body, &headers).await
    }

    /// The stream of changes.
    async fn listen(&self, who: &str) -> Response {
        self.ask(who, MODERN, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await
    }

    /// A call that tells of its progress, and does not end.
    async fn follow(&self, who: &str) -> Response {
        let arguments = json!({"to": 1, "then": "hang"});
        let params = json!({"name": "demo_count", "arguments": arguments, "_meta": {"progressToken": "p-1"}});
        self.ask(who, MODERN, "tools/call", params).await
    }

    /// The session that a client gets that can be asked something, if it gets one.
    async fn begin(&self, who: &str) -> Option<String> {
        let (body, _) = message(LEGACY, "initialize", hello());
        let begun = self.send(Method::POST, who, body, &[]).await;
        assert_eq!(begun.status(), StatusCode::OK);
        let session = begun.headers().get(SESSION).map(|name| name.to_str().unwrap().to_owned());
        assert!(begun.text().await.unwrap().contains("protocolVersion"), "it is served in any case");
        session
    }

    /// Sends a message of Ada's in her session.
    async fn within(&self, session: &str, method: Method, body: String) -> Response {
        let headers = [(SESSION, session.as_bytes()), ("mcp-protocol-version", LEGACY.as_bytes())];
        self.send(method, "ada", body, &headers).await
    }

    /// Waits until so many places are taken.
    async fn until(&self, open: u64) {
        let seen = timeout(PATIENCE, async {
            while self.handle.stats().streams != open {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(seen.await.is_ok(), "{:?}", self.handle.stats());
    }
}

fn hello() -> Value {
    json!({
        "protocolVersion": LEGACY,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

#[track_caller]
fn is_stream(answer: &Response) {
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
}

/// The envelope of a refusal that stands under a status.
async fn refused(answer: Response, status: u16, code: &str) -> Value {
    assert_eq!((answer.status().as_u16(), &answer.headers()["retry-after"]), (status, &"1".parse().unwrap()));
    let mut error: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    let envelope = error["error"]["data"].take();
    assert_eq!((&envelope["code"], &envelope["retry_after_ms"]), (&json!(code), &json!(1000)), "{envelope}");
    envelope
}

/// The envelope of a tool that was refused for want of a place.
async fn refused_tool(answer: Response) -> Value {
    assert_eq!(answer.status(), StatusCode::OK);
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    let envelope = failure(&answer["result"]);
    assert_eq!((&envelope["code"], &envelope["details"]["limit"]), (&json!("RATE_LIMITED"), &json!("streams")));
    envelope
}

#[tokio::test]
async fn a_caller_without_a_place_for_a_stream_is_told_so_until_one_ends_and_another_is_served() {
    let served = Served::with(1, 1024).await;
    let changes = served.listen("ada").await;
    is_stream(&changes);
    let envelope = refused(served.listen("ada").await, 429, "RATE_LIMITED").await;
    assert_eq!(envelope["details"], json!({"limit": "streams", "per": "caller", "open": 1}));
    assert_eq!(refused_tool(served.follow("ada").await).await["retry_after_ms"], 1000);
    let plain = served.ask("ada", MODERN, "tools/call", json!({"name": "demo_count", "arguments": {"to": 2}})).await;
    assert!(plain.text().await.unwrap().contains(r#""complete":true"#), "what is no stream needs no place");
    let other = served.follow("bob").await;
    is_stream(&other);
    assert_eq!((served.handle.stats().streams, served.handle.stats().refused_by_caller), (2, 2));

    drop(changes);
    served.until(1).await;
    let progress = served.follow("ada").await;
    is_stream(&progress);
    refused(served.listen("ada").await, 429, "RATE_LIMITED").await;
    drop((progress, other));
    served.until(0).await;
    is_stream(&served.listen("ada").await);
}

#[tokio::test]
async fn a_session_holds_a_place_of_its_caller_until_it_ends() {
    let served = Served::with(2, 1024).await;
    let session = served.begin("ada").await.unwrap();
    let stream = served.within(&session, Method::GET, String::new()).await;
    is_stream(&stream);
    assert_eq!(served.begin("ada").await, None, "there is no place for a second one");
    refused(served.within(&session, Method::GET, String::new()).await, 429, "RATE_LIMITED").await;
    let (call, _) = message(LEGACY, "tools/call", json!({"name": "demo_count", "arguments": {"to": 1}}));
    refused_tool(served.within(&session, Method::POST, call.clone()).await).await;
    let (ping, _) = message(LEGACY, "ping", json!({}));
    assert_eq!(served.within(&session, Method::POST, ping).await.status(), StatusCode::OK);
    for taken in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 0, "result": {"action": "decline"}}),
    ] {
        let answer = served.within(&session, Method::POST, taken.to_string()).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED, "{taken}");
    }
    assert!(served.begin("bob").await.is_some());
    served.until(3).await;

    drop(stream);
    served.until(2).await;
    let called = served.within(&session, Method::POST, call).await;
    assert!(called.text().await.unwrap().contains(r#""complete":true"#));
    served.until(2).await;
    assert_eq!(served.within(&session, Method::DELETE, String::new()).await.status(), StatusCode::NO_CONTENT);
    served.until(1).await;
    assert!(served.begin("ada").await.is_some() && served.begin("ada").await.is_some());
    assert_eq!(served.begin("ada").await, None);
}

#[tokio::test]
async fn no_name_of_a_session_gets_one_past_the_count() {
    let served = Served::with(0, 1024).await;
    let (body, _) = message(LEGACY, "initialize", hello());
    let begun = served.send(Method::POST, "ada", body, &[(SESSION, b"\xff")]).await;
    assert!(begun.status() == StatusCode::BAD_REQUEST && !begun.headers().contains_key(SESSION), "{begun:?}");
    // A request of the modern era stands on its own, whatever session it names.
    let (body, headers) = message(MODERN, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    headers.push((SESSION, b"any"));
    refused(served.send(Method::POST, "ada", body, &headers).await, 429, "RATE_LIMITED").await;
    assert_eq!(served.handle.stats().streams, 0);
}

#[tokio::test]
async fn a_stream_of_changes_beyond_all_that_there_may_be_is_overloaded() {
    let served = Served::with(8, 1).await;
    let first = served.listen("ada").await;
    is_stream(&first);
    refused(served.listen("bob").await, 503, "OVERLOADED").await;
    assert_eq!(served.handle.stats().streams, 1, "who is refused holds nothing");
    drop(first);
    served.until(0).await;
    is_stream(&served.listen("bob").await);
}
