//! Streams: order, ends, and that none holds up another.

use redress_serve::ws::WebSocketLimits;
use serde_json::json;

use super::service::{Server, until};

#[tokio::test]
async fn items_come_numbered_and_in_order_and_then_one_end() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("s", "feed.count", json!({"count": 500})).await;
    for n in 0..500 {
        let item = client.next().await;
        assert_eq!(item, json!({"type": "call.responded", "id": "s", "payload": {"seq": n + 1, "output": n}}));
    }
    let end = client.next().await;
    assert_eq!((&end["type"], &end["id"]), (&json!("call.completed"), &json!("s")));
    // Ten numbers of one digit, ninety of two, four hundred of three; four characters are a token.
    let meta = &end["payload"]["_meta"];
    assert_eq!(meta["estimated_tokens"], (10 + 90 * 2 + 400 * 3_u64).div_ceil(4));
    assert!(meta["request_id"].is_string() && meta["session_id"].is_string() && meta["elapsed_ms"].is_u64(), "{end}");
    client.ask("s", "feed.count", json!({"count": 0})).await;
    assert_eq!(client.next().await["type"], "call.completed");
}

#[tokio::test]
async fn a_stream_that_fails_in_the_middle_ends_with_its_failure() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("s", "feed.breaks", json!({})).await;
    for n in 0..3 {
        assert_eq!(client.next().await["payload"]["output"], n);
    }
    let end = client.next().await;
    assert_eq!((end["type"].as_str(), end["payload"]["code"].as_str()), (Some("call.error"), Some("FEED_BROKEN")));
    assert_eq!(end["payload"]["details"], json!({"at": 3}));
    // Nothing comes after the end.
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn a_stream_that_goes_on_goes_on_counting() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let payload = json!({"operation": "feed.count", "input": {"count": 1}, "last_event_id": "41"});
    client.send(json!({"type": "call.requested", "id": "s", "payload": payload})).await;
    assert_eq!(client.next().await["payload"]["seq"], 42);
}

#[tokio::test]
async fn a_stream_that_is_aborted_drops_its_source() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("s", "feed.endless", json!({})).await;
    client.next().await;
    client.abort("s").await;
    while client.next().await["type"] != "call.aborted" {}
    until(|| server.dropped() == 1).await;
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn a_slow_stream_does_not_stall_another() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("slow", "feed.gated", json!({})).await;
    client.ask("fast", "feed.count", json!({"count": 3000})).await;
    for n in 0..3000 {
        let item = client.next().await;
        assert_eq!((item["id"].as_str(), item["payload"]["output"].as_u64()), (Some("fast"), Some(n)));
    }
    assert_eq!(client.next().await["type"], "call.completed");
    server.marks.gate.0.add_permits(1);
    assert_eq!(client.next().await["payload"]["output"], 0);
}

#[tokio::test]
async fn a_flood_does_not_stall_a_trickle_or_a_call() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    client.ask("flood", "feed.endless", json!({})).await;
    client.ask("slow", "feed.gated", json!({})).await;
    for n in 0..20 {
        server.marks.gate.0.add_permits(1);
        client.ask(&format!("call-{n}"), "math.double", json!({"n": n})).await;
        let (mut item, mut answer, mut between) = (false, false, 0);
        while !(item && answer) {
            let message = client.next().await;
            match message["id"].as_str() {
                Some("flood") => between += 1,
                Some("slow") => item = true,
                _ => answer = true,
            }
            // What the flood has put into the buffers of TCP goes first; its lane does not.
            assert!(between < 20_000, "the flood goes before everything else");
        }
    }
}
