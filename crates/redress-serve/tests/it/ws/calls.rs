//! Calls: each way to end one, aborts, and what ends a connection.

use std::time::Duration;

use futures_util::SinkExt as _;
use redress_contract::Kind;
use redress_serve::ws::WebSocketLimits;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::service::{Server, code_of, until};

#[tokio::test]
async fn a_call_is_answered_with_its_output() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for name in ["math.double", "math/double", "/math/double"] {
        let answer = client.call(name, json!({"n": 21})).await;
        assert_eq!(answer, json!({"type": "call.responded", "id": "one", "payload": {"output": 42}}));
    }
    client
        .send(
            json!({"type": "call.requested", "id": "b", "payload": {"operationId": "/math/double", "input": {"n": 4}}}),
        )
        .await;
    assert_eq!(client.next().await["payload"], json!({"output": 8}));
}

#[tokio::test]
async fn each_kind_of_failure_comes_with_its_whole_envelope() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for kind in Kind::ALL {
        let answer = client.call("test.fail", json!({"code": code_of(kind)})).await;
        assert_eq!(answer["type"], "call.error");
        let payload = &answer["payload"];
        assert_eq!(payload["code"], code_of(kind));
        assert_eq!(payload["kind"], kind.as_str());
        assert_eq!(payload["details"], json!({"seen": true}));
        assert_eq!(payload["message"], payload["error"]);
        assert!(payload["retryable"].is_boolean() && payload["hint"].is_string(), "{payload}");
        assert!(payload["_meta"]["session_id"].as_str().is_some_and(|id| id.starts_with("ws-")), "{payload}");
    }
}

#[tokio::test]
async fn an_invalid_input_comes_with_its_place_and_the_socket_stays() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let answer = client.call("math.double", json!({"n": "CANARY-1"})).await;
    assert_eq!(answer["payload"]["code"], "INVALID_INPUT");
    assert_eq!(answer["payload"]["recovery"]["verb"], "fix_input");
    assert!(!answer.to_string().contains("CANARY"), "{answer}");
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn the_engine_answers_what_no_handler_does() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for (operation, code) in [("no.such", "NOT_FOUND"), ("test.late", "TIMEOUT"), ("test.panic", "INTERNAL")] {
        let answer = client.call(operation, json!({})).await;
        assert_eq!((answer["type"].as_str(), answer["payload"]["code"].as_str()), (Some("call.error"), Some(code)));
        assert!(!answer.to_string().contains("CANARY"));
    }
    let payload = json!({"operation": "test.never", "deadline_ms": 20, "request_id": "my-own"});
    client.send(json!({"type": "call.requested", "id": "d", "payload": payload})).await;
    let answer = client.next().await;
    assert_eq!((answer["payload"]["code"].as_str(), answer["id"].as_str()), (Some("TIMEOUT"), Some("d")));
    assert_eq!(answer["payload"]["_meta"]["request_id"], "my-own");
    // One handler missed its own deadline, one the caller's.
    assert_eq!(server.dropped(), 2);
}

#[tokio::test]
async fn a_binary_message_is_answered_in_kind() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let request = super::service::requested("b", "math.double", json!({"n": 3})).to_string();
    client.socket.send(Message::binary(request.clone())).await.unwrap();
    let Message::Binary(body) = client.raw().await else { panic!("it came as text") };
    assert_eq!(body, br#"{"type":"call.responded","id":"b","payload":{"output":6}}"#.as_slice());
    client.send_text(request).await;
    assert!(matches!(client.raw().await, Message::Text(_)));
}

#[tokio::test]
async fn an_abort_drops_the_handler_and_frees_the_id() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("a", "test.never", json!({})).await;
    until(|| server.begun() == 1).await;
    client.abort("a").await;
    assert_eq!(client.next().await, json!({"type": "call.aborted", "id": "a", "payload": {}}));
    until(|| server.dropped() == 1).await;
    client.abort("a").await;
    client.abort("never-was").await;
    client.ask("a", "math.double", json!({"n": 1})).await;
    assert_eq!(client.next().await["payload"]["output"], 2);
    assert_eq!(server.load().await.calls, 0);
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_its_call_goes_on() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("a", "test.wait", json!({})).await;
    client.ask("a", "math.double", json!({"n": 1})).await;
    let refused = client.next().await;
    assert_eq!((refused["id"].as_str(), refused["payload"]["code"].as_str()), (Some("a"), Some("INVALID_REQUEST")));
    assert_eq!(refused["payload"]["details"]["pointer"], "/id");
    server.marks.gate.0.add_permits(1);
    assert_eq!(client.next().await["payload"]["output"], "waited");
}

#[tokio::test]
async fn more_calls_or_streams_than_allowed_are_refused() {
    let mut limits = WebSocketLimits::default();
    (limits.calls, limits.streams) = (2, 1);
    let server = Server::start(limits).await;
    let mut client = server.connect().await;
    for (id, operation) in [("1", "test.never"), ("2", "test.never"), ("s", "feed.gated")] {
        client.ask(id, operation, json!({})).await;
    }
    for (id, operation, limit) in [("3", "math.double", 2), ("t", "feed.gated", 1)] {
        client.ask(id, operation, json!({})).await;
        let answer = client.next().await;
        assert_eq!((answer["id"].as_str(), answer["payload"]["code"].as_str()), (Some(id), Some("OVERLOADED")));
        assert_eq!(answer["payload"]["details"], json!({"limit": "calls", "per": "connection", "open": limit}));
    }
    client.abort("1").await;
    assert_eq!(client.next().await["type"], "call.aborted");
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn a_connection_that_drops_cancels_everything_on_it() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for n in 0..20 {
        client.ask(&format!("call-{n}"), "test.never", json!({})).await;
        client.ask(&format!("stream-{n}"), "feed.endless", json!({})).await;
    }
    let peer = server.peer().await;
    until(|| peer.load().calls == 20 && peer.load().streams == 20).await;
    drop(client);
    until(|| server.dropped() > 0 && server.all_dropped() && server.peers.all().is_empty()).await;
    let load = peer.load();
    assert_eq!((load.calls, load.streams), (0, 0));
}

#[tokio::test]
async fn a_close_is_answered_and_cancels_everything() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("a", "test.never", json!({})).await;
    until(|| server.begun() == 1).await;
    client.socket.close(None).await.unwrap();
    assert!(matches!(client.raw().await, Message::Close(_)));
    until(|| server.dropped() == 1).await;
}

#[tokio::test]
async fn who_shows_no_sign_of_life_is_hung_up_on() {
    let mut limits = WebSocketLimits::default();
    (limits.ping, limits.idle) = (Duration::from_millis(20), Duration::from_millis(100));
    let server = Server::start(limits).await;
    // A client that is not polled answers no pings.
    let mut silent = server.connect().await;
    silent.ask("a", "test.never", json!({})).await;
    until(|| server.all_dropped() && server.peers.all().is_empty()).await;
    // One that is polled does, and stays, however long it asks for nothing. It has a second for that: on a busy
    // machine, client and server may both stand still for longer than the first one had.
    limits.idle = Duration::from_secs(1);
    let server = Server::start(limits).await;
    let mut quiet = server.connect().await;
    let read = tokio::time::timeout(Duration::from_millis(1500), quiet.raw()).await;
    assert!(read.is_err(), "{read:?}");
    assert_eq!(quiet.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn a_server_that_goes_down_ends_streams_lets_calls_finish_and_takes_no_new_ones() {
    let mut server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("call", "test.wait", json!({})).await;
    client.ask("stream", "feed.gated", json!({})).await;
    let peer = server.peer().await;
    until(|| peer.load().calls == 1 && peer.load().streams == 1).await;
    server.stop();
    let ended = client.next().await;
    assert_eq!((ended["id"].as_str(), ended["type"].as_str()), (Some("stream"), Some("call.error")));
    assert_eq!(ended["payload"]["code"], "OVERLOADED");
    let late = client.call("math.double", json!({"n": 1})).await;
    assert_eq!(late["payload"]["details"], json!({"shutting_down": true}));
    server.marks.gate.0.add_permits(1);
    assert_eq!(client.next().await["payload"]["output"], "waited");
    assert_eq!(client.close_code().await, 1001);
    server.stopped().await;
}

#[tokio::test]
async fn calls_that_outlast_the_grace_are_cancelled_and_answered_before_the_connection_closes() {
    let mut server = Server::start_for(WebSocketLimits::default(), Duration::from_millis(50), |builder| builder).await;
    let mut client = server.connect().await;
    for id in ["a", "b"] {
        client.ask(id, "test.never", json!({})).await;
    }
    let peer = server.peer().await;
    until(|| peer.load().calls == 2).await;
    server.stop();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer = client.next().await;
        assert_eq!((&answer["type"], &answer["payload"]["code"]), (&json!("call.error"), &json!("CANCELLED")));
        ids.push(answer["id"].as_str().unwrap().to_owned());
    }
    ids.sort();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!((client.close_code().await, server.dropped()), (1001, 2));
    server.stopped().await;
}
