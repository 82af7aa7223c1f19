//! Many streams and calls on one connection, and what they may hold in memory, as the connection itself counts it: what the
//! whole process has is other tests' too, and the soak measures it (`never-read`).

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use futures_util::{SinkExt as _, StreamExt as _};
use redress_serve::ws::WebSocketLimits;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::service::{Server, requested, until};

const STREAMS: usize = 100;
const CALLS: usize = 1000;
const ITEMS: u64 = 50;

/// What a client saw of one id.
#[derive(Default)]
struct Seen {
    items: u64,
    ends: Vec<String>,
}

/// The requests: every tenth stream has no end and every tenth call no answer, until aborted.
fn requests() -> Vec<Value> {
    let streams = (0..STREAMS).map(|n| match n % 10 {
        0 => requested(&format!("endless-{n}"), "feed.endless", json!({})),
        _ => requested(&format!("stream-{n}"), "feed.count", json!({"count": ITEMS})),
    });
    let calls = (0..CALLS).map(|n| match n % 10 {
        0 => requested(&format!("never-{n}"), "test.never", json!({})),
        _ => requested(&format!("call-{n}"), "math.double", json!({"n": n})),
    });
    streams.chain(calls).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_streams_and_a_thousand_calls_with_aborts_lose_nothing() {
    let server = Server::start(WebSocketLimits::default()).await;
    let (mut sink, mut stream) = server.connect().await.socket.split();
    let since = Instant::now();
    let writing = tokio::spawn(async move {
        let requests = requests();
        let wanted: Vec<String> = requests.iter().map(|request| request["id"].as_str().unwrap().to_owned()).collect();
        for request in requests {
            sink.send(Message::text(request.to_string())).await.unwrap();
        }
        for id in wanted.iter().filter(|id| id.starts_with("endless") || id.starts_with("never")) {
            let abort = json!({"type": "call.aborted", "id": id, "payload": {}});
            sink.send(Message::text(abort.to_string())).await.unwrap();
        }
        sink
    });
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let mut ended = 0;
    while ended < STREAMS + CALLS {
        let message = tokio::time::timeout(Duration::from_secs(30), stream.next()).await.unwrap().unwrap().unwrap();
        let Message::Text(text) = message else { continue };
        let message: Value = serde_json::from_str(&text).unwrap();
        let id = message["id"].as_str().unwrap().to_owned();
        let sort = message["type"].as_str().unwrap().to_owned();
        let of_id = seen.entry(id.clone()).or_default();
        assert!(of_id.ends.is_empty(), "{id}: {sort} after its end");
        if let Some(seq) = message["payload"]["seq"].as_u64() {
            of_id.items += 1;
            assert_eq!(seq, of_id.items, "{id}");
            if id.starts_with("stream") {
                assert_eq!(message["payload"]["output"], seq - 1, "{id}");
            }
            continue;
        }
        if let Some(n) = id.strip_prefix("call-") {
            assert_eq!(message["payload"]["output"], n.parse::<u64>().unwrap() * 2);
        }
        of_id.ends.push(sort);
        ended += 1;
    }
    let _sink = writing.await.unwrap();
    assert_eq!(seen.len(), STREAMS + CALLS);
    for (id, of_id) in &seen {
        let end = match id.split('-').next() {
            Some("endless" | "never") => "call.aborted",
            Some("stream") => "call.completed",
            _ => "call.responded",
        };
        assert_eq!(of_id.ends, [end], "{id}");
        if id.starts_with("stream") {
            assert_eq!(of_id.items, ITEMS, "{id}");
        }
    }
    until(|| server.all_dropped()).await;
    let load = server.load().await;
    assert_eq!((load.calls, load.streams, load.messages, load.bytes), (0, 0, 0, 0));
    assert!(load.max_messages <= max_messages(), "{load:?}");
    tell(&format!("many: {load:?}, {} ms", since.elapsed().as_millis()));
}

/// The most that may wait: a window and an end for each stream, an answer for each call, and
/// what stands in front.
fn max_messages() -> usize {
    STREAMS * 17 + CALLS + 64 + 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_holds_its_streams_back_and_loses_nothing() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for n in 0..STREAMS {
        client.ask(&format!("{n}"), "feed.endless", json!({})).await;
    }
    let made = || server.marks.made.load(std::sync::atomic::Ordering::SeqCst);
    // The sources stand still once every window is full. A busy machine stands still now and then too, but not for
    // all of a second.
    let (mut stood, mut looks) = (0, 0);
    for _ in 0..300 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = made();
        looks = if now == stood && now > 0 { looks + 1 } else { 0 };
        stood = now;
        if looks == 10 {
            break;
        }
    }
    assert_eq!(looks, 10, "the sources go on though nobody reads");
    let load = server.load().await;
    assert!(load.max_messages <= STREAMS * 17 && load.bytes <= STREAMS * 17 * 1200, "{load:?}");
    // Reading again sets them all going, in order.
    let mut seen = HashMap::new();
    for _ in 0..stood + 1000 {
        let message = client.next().await;
        let count = seen.entry(message["id"].as_str().unwrap().to_owned()).or_insert(0);
        *count += 1;
        assert_eq!(message["payload"]["seq"], *count);
    }
    assert_eq!(seen.len(), STREAMS);
    tell(&format!("held back: {load:?}, {stood} items made"));
}

#[expect(clippy::print_stderr, reason = "the figures are for whoever runs the test with --nocapture")]
fn tell(figures: &str) {
    eprintln!("{figures}");
}
