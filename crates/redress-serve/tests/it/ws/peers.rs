//! Calls from the server to the client, and streams the other way.

use futures_util::StreamExt as _;
use redress_serve::ws::{PeerError, PeerStream, WebSocketLimits};
use serde_json::{Value, json};

use super::service::{Client, Server, until};

#[tokio::test]
async fn an_operation_can_call_its_caller() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("a", "test.ask", json!({"x": 1, "y": 2})).await;
    let asked = client.next().await;
    assert_eq!(
        (asked["type"].as_str(), asked["payload"]["operation"].as_str()),
        (Some("call.requested"), Some("client.add"))
    );
    assert_eq!(asked["payload"]["input"], json!({"x": 1, "y": 2}));
    assert_eq!(asked["id"], "srv-1");
    client.send(json!({"type": "call.responded", "id": asked["id"], "payload": {"output": 3}})).await;
    assert_eq!(client.next().await, json!({"type": "call.responded", "id": "a", "payload": {"output": 3}}));
}

#[tokio::test]
async fn no_other_connection_can_answer_what_one_was_asked() {
    let server = Server::start(WebSocketLimits::default()).await;
    let (mut client, mut stranger) = (server.connect().await, server.connect().await);
    client.ask("a", "test.ask", json!({"x": 1, "y": 2})).await;
    let asked = client.next().await;
    for (sort, payload) in [
        ("call.responded", json!({"output": 666})),
        ("call.error", json!({"code": "NO_SUM", "message": "no", "retryable": false})),
        ("call.aborted", json!({})),
        ("call.completed", json!({})),
    ] {
        stranger.send(json!({"type": sort, "id": asked["id"], "payload": payload})).await;
    }
    // What was sent before is read before, so this tells that all of it was.
    assert_eq!(stranger.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
    client.send(json!({"type": "call.responded", "id": asked["id"], "payload": {"output": 3}})).await;
    assert_eq!(client.next().await, json!({"type": "call.responded", "id": "a", "payload": {"output": 3}}));
}

#[tokio::test]
async fn what_the_client_does_instead_of_answering_is_told_apart() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let endings = [
        ("call.error", json!({"code": "NO_SUM", "message": "no", "retryable": false}), "NO_SUM"),
        ("call.error", json!({"odd": true}), "INTERNAL"),
        ("call.aborted", json!({}), "Aborted"),
        ("call.completed", json!({}), "NoOutput"),
    ];
    for (sort, payload, why) in endings {
        client.ask("a", "test.ask", json!({})).await;
        let asked = client.next().await;
        client.send(json!({"type": sort, "id": asked["id"], "payload": payload})).await;
        assert_eq!(client.next().await["payload"]["details"], json!({"why": why}));
    }
}

#[tokio::test]
async fn a_client_that_does_not_answer_in_time_is_told_so() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("a", "test.ask", json!({"within_ms": 20})).await;
    let asked = client.next().await;
    let (first, second) = (client.next().await, client.next().await);
    let (aborted, answer) = if first["id"] == "a" { (second, first) } else { (first, second) };
    assert_eq!(aborted, json!({"type": "call.aborted", "id": asked["id"], "payload": {}}));
    assert_eq!(answer["payload"]["details"], json!({"why": "TimedOut"}));
    // A late answer, and one to what was never asked, change nothing.
    client.send(json!({"type": "call.responded", "id": asked["id"], "payload": {"output": 3}})).await;
    client.send(json!({"type": "call.responded", "id": "srv-99", "payload": {"output": 3}})).await;
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn a_connection_that_drops_fails_every_call_to_it() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.call("math.double", json!({"n": 1})).await;
    let peer = server.peer().await;
    let calls: Vec<_> = (0..10)
        .map(|n| {
            let peer = peer.clone();
            tokio::spawn(async move { peer.call("client.never", &json!({"n": n})).await })
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(client.next().await["payload"]["operation"], "client.never");
    }
    drop(client);
    for call in calls {
        assert!(matches!(call.await.unwrap(), Err(PeerError::Closed)));
    }
    until(|| server.peers.all().is_empty()).await;
    assert!(matches!(peer.call("client.never", &json!({})).await, Err(PeerError::Closed)));
}

#[tokio::test]
async fn both_sides_call_at_once_and_each_answer_finds_its_call() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for n in 0..100 {
        client.ask(&format!("{n}"), "test.ask", json!({"n": n})).await;
    }
    let mut answered = 0;
    while answered < 100 {
        let message = client.next().await;
        if message["type"] == "call.requested" {
            let output = json!({"double": message["payload"]["input"]["n"].as_u64().unwrap() * 2});
            client.send(json!({"type": "call.responded", "id": message["id"], "payload": {"output": output}})).await;
        } else {
            let n: u64 = message["id"].as_str().unwrap().parse().unwrap();
            assert_eq!(message["payload"]["output"], json!({"double": n * 2}));
            answered += 1;
        }
    }
}

#[tokio::test]
async fn no_more_calls_wait_than_allowed() {
    let mut limits = WebSocketLimits::default();
    limits.peer_calls = 1;
    let server = Server::start(limits).await;
    let mut client = server.connect().await;
    client.ask("a", "test.ask", json!({})).await;
    client.next().await;
    client.ask("b", "test.ask", json!({})).await;
    assert_eq!(client.next().await["payload"]["details"], json!({"why": "Busy { limit: 1 }"}));
}

/// Subscribes to an operation of the client, with the client's id for the stream.
async fn subscribed(server: &Server, client: &mut Client) -> (PeerStream, Value) {
    let stream = server.peer().await.subscribe("client.log", &json!({"from": 1})).await.unwrap();
    let asked = client.next().await;
    let payload = json!({"operation": "client.log", "input": {"from": 1}});
    assert_eq!((&asked["type"], &asked["payload"]), (&json!("call.requested"), &payload));
    (stream, asked["id"].clone())
}

fn item(id: &Value, output: impl Into<Value>) -> Value {
    json!({"type": "call.responded", "id": id, "payload": {"output": output.into()}})
}

#[tokio::test]
async fn a_client_can_be_subscribed_to_and_its_items_keep_their_order() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let (stream, id) = subscribed(&server, &mut client).await;
    for n in 0..100 {
        client.send(item(&id, n)).await;
    }
    client.send(json!({"type": "call.completed", "id": id, "payload": {}})).await;
    let items: Vec<String> = stream.map(|item| item.unwrap().get().to_owned()).collect().await;
    assert_eq!(items, (0..100).map(|n| n.to_string()).collect::<Vec<_>>());
    // Nothing was told to the client after its own end.
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn a_stream_of_the_client_ends_badly_in_each_way_that_a_call_does() {
    let endings = [
        (
            "call.error",
            json!({"code": "LOG_TORN", "message": "torn", "retryable": true}),
            "the peer failed with LOG_TORN",
        ),
        ("call.aborted", json!({}), "the peer aborted the call"),
    ];
    for (sort, payload, why) in endings {
        let server = Server::start(WebSocketLimits::default()).await;
        let mut client = server.connect().await;
        let (mut stream, id) = subscribed(&server, &mut client).await;
        client.send(item(&id, "first")).await;
        client.send(json!({"type": sort, "id": id, "payload": payload})).await;
        assert_eq!(stream.next().await.unwrap().unwrap().get(), "\"first\"");
        assert_eq!(stream.next().await.unwrap().unwrap_err().to_string(), why);
        assert!(stream.next().await.is_none());
    }
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let (mut stream, _) = subscribed(&server, &mut client).await;
    drop(client);
    assert!(matches!(stream.next().await, Some(Err(PeerError::Closed))));
}

#[tokio::test]
async fn a_stream_of_the_client_that_nobody_reads_any_more_is_aborted() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let (stream, id) = subscribed(&server, &mut client).await;
    drop(stream);
    assert_eq!(client.next().await, json!({"type": "call.aborted", "id": id, "payload": {}}));
    // A late item changes nothing.
    client.send(item(&id, 1)).await;
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn a_reader_that_is_too_slow_loses_its_stream_and_holds_up_no_other() {
    let mut limits = WebSocketLimits::default();
    limits.peer_window = 8;
    let server = Server::start(limits).await;
    let mut client = server.connect().await;
    let (mut slow, id) = subscribed(&server, &mut client).await;
    let (mut other, other_id) = subscribed(&server, &mut client).await;
    for n in 0..20 {
        client.send(item(&id, n)).await;
    }
    client.send(item(&other_id, "on time")).await;
    assert_eq!(client.next().await, json!({"type": "call.aborted", "id": id, "payload": {}}));
    assert_eq!(other.next().await.unwrap().unwrap().get(), "\"on time\"");
    for n in 0..8 {
        assert_eq!(slow.next().await.unwrap().unwrap().get(), n.to_string());
    }
    assert!(matches!(slow.next().await, Some(Err(PeerError::Overflow))));
    assert!(slow.next().await.is_none());
    // One large item counts for as many small ones as it has room for.
    client.send(item(&other_id, "x".repeat(9 * 16 * 1024))).await;
    assert!(matches!(other.next().await, Some(Err(PeerError::Overflow))));
}
