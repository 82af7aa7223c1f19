//! More connections, sockets and streams than allowed.

use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, time::timeout};

use super::{GREET, SOON, Served, exchange, last_words, one_answer};

#[tokio::test]
async fn a_connection_too_many_is_told_so_and_the_others_go_on() {
    let (served, _) = Served::within(|limits| limits.connections = 3).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = served.connect().await;
        assert!(exchange(&mut stream, GREET).await.starts_with("HTTP/1.1 200"));
        open.push(stream);
    }
    let answer = last_words(&mut served.connect().await, "").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 1"), "{head}");
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&problem["code"], &problem["details"]["limit"]), (&"OVERLOADED".into(), &"connections".into()));
    for stream in &mut open {
        assert!(exchange(stream, GREET).await.starts_with("HTTP/1.1 200"));
    }
    open.pop();
    served.until(|stats| (stats.connections, stats.refused) == (2, 1)).await;
    assert!(exchange(&mut served.connect().await, GREET).await.starts_with("HTTP/1.1 200"));
    served.end().await;
}

#[tokio::test]
async fn where_there_is_no_place_left_the_longest_idle_connection_of_whoever_has_most_makes_way() {
    let (served, watched) = Served::within(|limits| limits.connections = 4).await;
    let from = |address: &'static str| served.connect_from(address);
    // One of them has a call that runs, and is the oldest.
    let wait = "POST /ops/demo/wait HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    let mut busy = from("127.0.0.2").await;
    busy.write_all(wait.as_bytes()).await.unwrap();
    timeout(SOON, watched.started.notified()).await.expect("the call began");
    let mut idle = Vec::new();
    for _ in 0..3 {
        idle.push(from("127.0.0.2").await);
        let open = 1 + idle.len() as u64;
        served.until(|stats| stats.connections == open).await;
    }
    for (newcomer, closed) in [("127.0.0.1", 1), ("127.0.0.3", 2)] {
        let mut stream = from(newcomer).await;
        assert!(exchange(&mut stream, GREET).await.starts_with("HTTP/1.1 200"), "{newcomer}");
        idle.push(stream);
        served.until(|stats| (stats.connections, stats.idle, stats.refused) == (4, closed, 0)).await;
    }
    // The one that is left of them is not taken for whoever would have as many.
    let refused = last_words(&mut from("127.0.0.3").await, "").await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains(r#""details":{"limit":"connections","per":"server"}"#), "{refused}");
    watched.release.notify_one();
    assert!(one_answer(&mut busy).await.starts_with("HTTP/1.1 200"));
    served.end().await;
}

#[tokio::test]
async fn an_address_with_too_many_connections_is_refused_and_another_is_not() {
    let (served, _) = Served::within(|limits| limits.per_address = 2).await;
    let from = |address: &'static str| served.connect_from(address);
    let mut open = [from("127.0.0.1").await, from("127.0.0.1").await];
    for stream in &mut open {
        assert!(exchange(stream, GREET).await.starts_with("HTTP/1.1 200"));
    }
    let refused = last_words(&mut from("127.0.0.1").await, "").await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains(r#""details":{"limit":"connections","per":"address"}"#), "{refused}");
    assert!(exchange(&mut from("127.0.0.2").await, GREET).await.starts_with("HTTP/1.1 200"));
    assert_eq!(served.handle.stats().refused_by_address, 1);
    served.end().await;
}

#[tokio::test]
async fn a_caller_with_too_many_streams_or_sockets_is_rate_limited_until_one_ends() {
    let (served, _) = Served::within(|limits| (limits.streams, limits.sockets) = (1, 1)).await;
    let hang =
        "POST /ops/demo/count HTTP/1.1\r\nhost: localhost\r\ncontent-length: 22\r\n\r\n{\"to\":1,\"then\":\"hang\"}";
    let upgrade = "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    for (request, status, limit) in [(hang, "200", "streams"), (upgrade, "101", "sockets")] {
        let mut first = served.connect().await;
        assert!(exchange(&mut first, request).await.starts_with(&format!("HTTP/1.1 {status}")), "{limit}");
        let answer = exchange(&mut served.connect().await, request).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 429") && head.contains("retry-after: 1"), "{head}");
        let problem: Value = serde_json::from_str(body).unwrap();
        assert_eq!((&problem["code"], &problem["details"]["limit"]), (&"RATE_LIMITED".into(), &limit.into()));
        first.shutdown().await.unwrap();
        drop(first);
        served.until(|stats| (stats.streams, stats.sockets) == (0, 0)).await;
        assert!(exchange(&mut served.connect().await, request).await.starts_with(&format!("HTTP/1.1 {status}")));
        served.until(|stats| (stats.streams, stats.sockets) == (0, 0)).await;
    }
    assert_eq!(served.handle.stats().refused_by_caller, 2);
    served.end().await;
}
