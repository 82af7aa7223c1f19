//! Requests that are refused before there is a call: each of them with an envelope under an id, and told to observers.

use std::sync::{Arc, Mutex};

use redress_core::{
    EndedCall, Fault, IdentityError, IdentityProvider, Observer, Secret, contract::Caller, testing::Canary,
};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    demo::{self, Watched},
    events::{Client, PATIENCE},
    service::{Answer, LEGACY, MODERN, Running, message},
    talk,
};

const OLDER: &str = "2025-06-18";

/// The ids under which a call or a message was told to have ended badly.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Observer for Heard {
    fn ended(&self, call: &EndedCall<'_>) {
        if call.problem.is_some() {
            self.0.lock().unwrap().push(call.request_id.to_string());
        }
    }
}

impl Heard {
    /// The answer is an error of JSON-RPC with this number, and its data an envelope with this code, told under one id to the
    /// caller, in the header, and to observers.
    #[track_caller]
    fn assert_refused(&self, answer: &Answer, (status, number, code): (u16, i64, &str)) {
        assert_eq!((answer.status, answer.error().0), (status, number), "{answer:?}");
        let id = self.assert_envelope(&answer.json(), code);
        assert_eq!(answer.header("x-request-id"), id, "{answer:?}");
    }

    #[track_caller]
    fn assert_envelope(&self, message: &Value, code: &str) -> String {
        let data = &message["error"]["data"];
        assert_eq!((&data["ok"], &data["code"]), (&json!(false), &json!(code)), "{message}");
        assert!(data["hint"].as_str().unwrap().split_whitespace().count() >= 5, "{message}");
        let id = data["_meta"]["request_id"].as_str().unwrap().to_owned();
        assert_eq!(self.0.lock().unwrap().iter().filter(|heard| **heard == id).count(), 1, "{message}");
        id
    }
}

async fn running() -> (Running, Heard) {
    let heard = Heard::default();
    let registry = talk::build(|builder| builder.observer(heard.clone()));
    (Running::of(registry, Canary::new(), Arc::default(), |_| {}, |_| {}).await, heard)
}

async fn whole(response: Response) -> Answer {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, text: timeout(PATIENCE, response.text()).await.unwrap().unwrap() }
}

#[tokio::test]
async fn whatever_is_wrong_with_the_headers_or_the_members_of_a_request() {
    let (running, heard) = running().await;
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let ping = request("ping", json!({}));
    let version = ("mcp-protocol-version", MODERN);
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}});
    for (body, headers, expected) in [
        (ping.clone(), vec![("mcp-session-id", "a"), ("mcp-session-id", "b")], (400, -32600, "INVALID_REQUEST")),
        (ping.clone(), vec![("authorization", "Bearer a"), ("authorization", "b")], (400, -32600, "INVALID_REQUEST")),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_owned(), vec![], (400, -32600, "INVALID_REQUEST")),
        (request("initialize", hello), vec![("mcp-protocol-version", OLDER)], (400, -32600, "INVALID_REQUEST")),
        (request("tools/list", meta.clone()), vec![], (400, -32020, "INVALID_REQUEST")),
        (request("tools/list", meta.clone()), vec![version], (400, -32020, "INVALID_REQUEST")),
        (
            request("tools/list", meta.clone()),
            vec![version, ("mcp-method", "tools/call")],
            (400, -32020, "INVALID_REQUEST"),
        ),
        (request("tools/list", meta), vec![version, ("mcp-method", "tools/list")], (400, -32602, "INVALID_REQUEST")),
        (
            request("tools/call", json!({"name": "talk_note"})),
            vec![version, ("mcp-method", "tools/call")],
            (400, -32020, "INVALID_REQUEST"),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            vec![version],
            (400, -32020, "INVALID_REQUEST"),
        ),
        (ping, vec![("mcp-protocol-version", "1999-01-01")], (400, -32022, "INVALID_REQUEST")),
        (request("tools/call", json!({})), vec![], (200, -32602, "INVALID_REQUEST")),
        (request("no/such", json!({})), vec![], (200, -32601, "NOT_FOUND")),
        (request("tools/list", json!({"_meta": {"progressToken": {}}})), vec![], (200, -32602, "INVALID_REQUEST")),
        (request("tools/list", json!({"cursor": "no cursor"})), vec![], (200, -32602, "INVALID_REQUEST")),
        (request("resources/list", json!({"cursor": "no cursor"})), vec![], (200, -32602, "INVALID_REQUEST")),
        (
            request(
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "no://such/{a}"}, "argument": {"name": "a", "value": ""}}),
            ),
            vec![],
            (200, -32602, "INVALID_REQUEST"),
        ),
    ] {
        let answer = running.send(body, &headers).await;
        heard.assert_refused(&answer, expected);
    }
    for name in ["mcp-session-id", "mcp-protocol-version", "last-event-id"] {
        let request = running.client.post(running.url()).header("content-type", "application/json");
        let request = request.header(name, b"\xff".as_slice()).body(request_of("ping"));
        let answer = whole(request.send().await.unwrap()).await;
        heard.assert_refused(&answer, (400, -32020, "INVALID_REQUEST"));
    }
}

fn request_of(method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string()
}

#[tokio::test]
async fn a_version_that_is_not_served_is_told_which_are() {
    let (running, heard) = running().await;
    let answer = running.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &[("mcp-protocol-version", "1999-01-01")]);
    let answer = answer.await;
    heard.assert_envelope(&answer.json(), "INVALID_REQUEST");
    let data = &answer.json()["error"]["data"];
    assert_eq!(data["requested"], "1999-01-01");
    assert!(data["supported"].as_array().unwrap().contains(&json!(MODERN)), "{data}");
}

#[tokio::test]
async fn whatever_is_wrong_with_a_request_of_the_modern_era() {
    let (running, heard) = running().await;
    let loud = json!({"_meta": {"io.modelcontextprotocol/logLevel": "loud"}});
    let round = |more: Value| {
        let mut params = json!({"name": "talk_greet", "arguments": {"word": "hi"}});
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    for (method, params, expected) in [
        ("tools/list", loud, (200, -32602, "INVALID_REQUEST")),
        ("ping", json!({}), (404, -32601, "NOT_FOUND")),
        ("tools/call", round(json!({"requestState": "made up"})), (200, -32602, "INVALID_REQUEST")),
        ("tools/call", round(json!({"inputResponses": []})), (200, -32602, "INVALID_REQUEST")),
        ("tools/call", round(json!({"inputResponses": {"who": 7}})), (200, -32602, "INVALID_REQUEST")),
    ] {
        heard.assert_refused(&running.ask(MODERN, method, params).await, expected);
    }
}

#[tokio::test]
async fn whatever_is_wrong_with_a_request_in_a_session() {
    let (running, heard) = running().await;
    let client = Client::begin(&running, LEGACY).await;
    for (method, params, expected) in [
        ("logging/setLevel", json!({"level": "loud"}), (200, -32602, "INVALID_REQUEST")),
        ("no/such", json!({}), (200, -32601, "NOT_FOUND")),
        ("prompts/get", json!({}), (200, -32602, "INVALID_REQUEST")),
    ] {
        let (body, _) = message(LEGACY, method, params);
        heard.assert_refused(&client.answer(body).await, expected);
    }
    // The names of documents that a session is told of have a bound in bytes too, so a few long ones are enough.
    let long = "X".repeat(8_000);
    for number in 0.. {
        let (body, _) =
            message(LEGACY, "resources/subscribe", json!({"uri": format!("redress://errors/{long}{number}")}));
        let answer = client.answer(body).await;
        if answer.json()["error"].is_object() {
            heard.assert_refused(&answer, (200, -32602, "INVALID_REQUEST"));
            break;
        }
        assert!(number < 100, "there is an end to what a session is told of");
    }
}

#[tokio::test]
async fn an_id_that_still_runs_and_a_request_that_was_called_off() {
    let (canary, watched, heard) = (Canary::new(), Arc::new(Watched::default()), Heard::default());
    let registry = demo::build(&canary, &watched, |builder| builder.observer(heard.clone()));
    let running = Running::of(registry, canary, watched, |_| {}, |_| {}).await;
    let (none, _) = message(LEGACY, "prompts/list", json!({}));
    heard.assert_refused(&running.send(none, &[]).await, (200, -32601, "NOT_FOUND"));
    let client = Client::begin(&running, LEGACY).await;
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "demo_wait"}}).to_string();
    let waiting = client.send(Method::POST, call.clone(), &[("accept", "application/json")]);
    let cancelling = async {
        timeout(PATIENCE, running.watched.started.notified()).await.expect("the call began");
        heard.assert_refused(&client.answer(call.clone()).await, (400, -32600, "INVALID_REQUEST"));
        let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(client.post(cancel).await.status(), 202);
    };
    let (answer, ()) = tokio::join!(waiting, cancelling);
    let answer = whole(answer).await;
    heard.assert_refused(&answer, (200, -32603, "CANCELLED"));
    assert_eq!(answer.json()["id"], 7, "it says what it answers");
}

#[tokio::test]
async fn a_line_is_refused_like_a_message_over_http() {
    let heard = Heard::default();
    let registry = talk::build(|builder| builder.observer(heard.clone()));
    let mcp = redress_mcp::Mcp::new(registry, redress_mcp::McpOptions::default()).unwrap();
    let future = json!({"io.modelcontextprotocol/protocolVersion": "2099-01-01"});
    for (line, code) in [
        (json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}), "INVALID_REQUEST"),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}), "INVALID_REQUEST"),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": future}}), "INVALID_REQUEST"),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"}), "NOT_FOUND"),
        (json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}), "INVALID_REQUEST"),
    ] {
        let output = Shared::default();
        let input = std::io::Cursor::new(format!("{line}\n").into_bytes());
        timeout(PATIENCE, mcp.stdio(input, output.clone(), Default::default())).await.unwrap().unwrap();
        let said = output.0.lock().unwrap().clone();
        heard.assert_envelope(&serde_json::from_slice(&said).unwrap(), code);
    }
}

/// What was written, kept for a look at it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Says of each token what it is asked to: that it is nobody's, that it was somebody's, or that nobody can tell.
struct Unsure;

impl IdentityProvider for Unsure {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(std::future::ready(Err(match token.expose() {
            "expired" => IdentityError::Expired,
            "down" => IdentityError::unavailable("postgres://ada:hunter2@users.internal is away"),
            _ => IdentityError::Invalid,
        })))
    }
}

/// Counts the calls that ended in a fault.
#[derive(Clone, Default)]
struct Faults(Arc<Mutex<Vec<Fault>>>);

impl Observer for Faults {
    fn ended(&self, call: &EndedCall<'_>) {
        self.0.lock().unwrap().extend(call.fault);
    }
}

#[tokio::test]
async fn a_session_that_is_not_there() {
    let (running, heard) = running().await;
    let (body, _) = message(LEGACY, "ping", json!({}));
    for session in ["made-up", ""] {
        let headers = [("mcp-session-id", session), ("mcp-protocol-version", LEGACY)];
        let gone = running.send(body.clone(), &headers).await;
        heard.assert_refused(&gone, (404, -32600, "INVALID_REQUEST"));
    }
}

#[tokio::test]
async fn a_token_that_is_missing_or_tells_nobody_and_one_of_which_nobody_can_tell() {
    let (heard, faults) = (Heard::default(), Faults::default());
    let registry = talk::build(|builder| builder.observer(heard.clone()).observer(faults.clone()).identity(Unsure));
    let running = Running::of(registry, Canary::new(), Arc::default(), |_| {}, |http| http.anonymous = false).await;
    let (body, _) = message(LEGACY, "ping", json!({}));
    for headers in [&[][..], &[("authorization", "Bearer made-up")], &[("authorization", "Bearer expired")]] {
        let stranger = running.send(body.clone(), headers).await;
        heard.assert_refused(&stranger, (401, -32600, "AUTH_REQUIRED"));
        assert!(stranger.header("www-authenticate").starts_with("Bearer "), "{stranger:?}");
        let hint = stranger.json()["error"]["data"]["hint"].clone();
        assert!(hint.as_str().unwrap().starts_with("Ask the user for a token and put it into the settings"), "{hint}");
    }
    assert_eq!(*faults.0.lock().unwrap(), []);
    // Nothing is wrong with the token, and so no other is asked for.
    let unsure = running.send(body, &[("authorization", "Bearer down")]).await;
    heard.assert_refused(&unsure, (502, -32603, "UPSTREAM_UNREACHABLE"));
    assert_eq!(unsure.headers.get("www-authenticate"), None);
    let envelope = &unsure.json()["error"]["data"];
    assert_eq!((&envelope["retry"], &envelope["retry_after_ms"]), (&json!("safe"), &json!(1000)));
    assert!(!unsure.text.contains("hunter2") && !unsure.text.contains("users.internal"), "{unsure:?}");
    assert_eq!(*faults.0.lock().unwrap(), [Fault::Contained]);
}
