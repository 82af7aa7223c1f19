//! Clients that take their time, and clients that break off.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{GREET, SOON, Served, exchange, last_words, one_answer};

const SHORT: Duration = Duration::from_millis(40);

#[tokio::test]
async fn headers_that_trickle_in_are_waited_for_no_longer_than_allowed() {
    let (served, _) = Served::within(|limits| limits.header_time = SHORT).await;
    let mut stream = served.connect().await;
    let trickle = async {
        for byte in GREET.as_bytes().iter().cycle() {
            if stream.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    };
    timeout(SOON, trickle).await.expect("the connection is closed");
    assert_eq!(served.handle.stats().slow_headers, 1);
    assert!(exchange(&mut served.connect().await, GREET).await.starts_with("HTTP/1.1 200"));
    served.end().await;
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_answered_with_408_and_its_envelope() {
    let (served, watched) = Served::within(|limits| limits.body_time = SHORT).await;
    for path in ["/ops/demo/once", "/call", "/rpc", "/batch"] {
        let mut stream = served.connect().await;
        let request = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{{");
        let answer = exchange(&mut stream, &request).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let json: Value = serde_json::from_str(body).unwrap();
        let envelope = if path == "/rpc" { &json["error"]["data"] } else { &json };
        assert!(path == "/rpc" || head.starts_with("HTTP/1.1 408"), "{path} {head}");
        assert_eq!(
            (&envelope["code"], &envelope["http"]),
            (&Value::from("TIMEOUT"), &Value::from(408)),
            "{path} {json}"
        );
    }
    assert_eq!((watched.runs.load(Ordering::SeqCst), served.handle.stats().slow_bodies), (0, 4));
    served.end().await;
}

#[tokio::test]
async fn a_message_to_mcp_is_not_waited_for_longer_either() {
    let (served, _) = Served::within(|limits| limits.body_time = SHORT).await;
    let mut stream = served.connect().await;
    let request = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: 100\r\n\r\n{";
    let answer = exchange(&mut stream, request).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 408"), "{answer}");
    let response: Value = serde_json::from_str(body).unwrap();
    let envelope = &response["error"]["data"];
    assert_eq!((&response["error"]["code"], &envelope["code"]), (&Value::from(-32600), &Value::from("TIMEOUT")));
    let id = envelope["_meta"]["request_id"].as_str().unwrap();
    assert!(!id.is_empty() && head.contains(&format!("x-request-id: {id}")), "{answer}");
    served.end().await;
}

#[tokio::test]
async fn a_connection_on_which_nothing_is_asked_is_closed_after_its_time() {
    let (served, _) = Served::within(|limits| limits.idle_time = SHORT).await;
    let (mut fresh, mut used) = (served.connect().await, served.connect().await);
    assert!(exchange(&mut used, GREET).await.starts_with("HTTP/1.1 200"));
    for stream in [&mut fresh, &mut used] {
        assert_eq!(last_words(stream, "").await, "");
    }
    served.until(|stats| (stats.idle, stats.connections) == (2, 0)).await;
    served.end().await;
}

#[tokio::test]
async fn a_call_or_a_stream_that_is_silent_is_not_an_idle_connection() {
    let (served, watched) = Served::within(|limits| {
        limits.idle_time = SHORT;
        limits.write_time = SHORT;
        limits.header_time = SHORT;
    })
    .await;
    let (mut call, mut stream) = (served.connect().await, served.connect().await);
    call.write_all(b"POST /ops/demo/wait HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    let hang =
        "POST /ops/demo/count HTTP/1.1\r\nhost: localhost\r\ncontent-length: 22\r\n\r\n{\"to\":1,\"then\":\"hang\"}";
    stream.write_all(hang.as_bytes()).await.unwrap();
    // An idle connection beside them shows that more than the time has passed.
    let mut idle = served.connect().await;
    for _ in 0..3 {
        assert_eq!(last_words(&mut idle, "").await, "");
        idle = served.connect().await;
    }
    watched.release.notify_one();
    assert!(one_answer(&mut call).await.ends_with("\"released\""));
    let mut seen = [0; 1024];
    let read = timeout(SOON, stream.read(&mut seen)).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&seen[..read]).contains("200 OK"));
    assert_eq!(served.handle.stats().streams, 1);
    drop((call, stream));
    served.end().await;
}

#[tokio::test]
async fn a_reader_that_never_reads_is_hung_up_on_and_others_are_not() {
    let (served, _) = Served::within(|limits| limits.write_time = SHORT).await;
    // A small window is soon full.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stuck = socket.connect(served.tcp()).await.unwrap();
    let endless = "POST /ops/demo/count HTTP/1.1\r\nhost: localhost\r\ncontent-length: 19\r\n\r\n{\"to\":100000000000}";
    stuck.write_all(endless.as_bytes()).await.unwrap();
    served.until(|stats| stats.streams == 1).await;
    assert!(exchange(&mut served.connect().await, GREET).await.starts_with("HTTP/1.1 200"));
    served.until(|stats| (stats.slow_readers, stats.streams) == (1, 0)).await;
    served.end().await;
}

#[tokio::test]
async fn headers_that_are_too_large_are_431() {
    let (served, _) = Served::within(|limits| limits.header_bytes = 8192).await;
    // No more than is read: what is left unread when a connection closes makes the system drop the answer too.
    let mut request = String::from("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-large: ");
    request.push_str(&"x".repeat(8192 - request.len()));
    let answer = last_words(&mut served.connect().await, &request).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let fits = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-large: {}\r\n\r\n", "x".repeat(7_000));
    assert!(exchange(&mut served.connect().await, &fits).await.starts_with("HTTP/1.1 200"));
    served.end().await;
}

#[tokio::test]
async fn a_client_that_resets_in_the_middle_of_its_body_leaves_nothing_behind() {
    let (served, watched) = Served::within(|_| {}).await;
    for _ in 0..50 {
        let mut stream = served.connect().await;
        stream
            .write_all(b"POST /ops/demo/once HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
            .await
            .unwrap();
        stream.set_zero_linger().unwrap();
        drop(stream);
    }
    served.until(|stats| stats.accepted == 50 && stats.connections == 0).await;
    assert_eq!(watched.runs.load(Ordering::SeqCst), 0);
    served.end().await;
}
