//! Services that mean no good: whatever they send, a call ends with a typed failure within its deadline.

use std::{io::Write as _, time::Duration};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, time::Instant};

use crate::mock::{call, config, raw, raw_bytes, things};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
/// What a call may take here, and what it may take beyond that.
const DEADLINE: Duration = Duration::from_millis(1500);
const SLACK: Duration = Duration::from_millis(1500);

async fn ends_with(address: std::net::SocketAddr, codes: &[&str], what: &str) -> Value {
    let mut config = config(address);
    config.deadline = Some(DEADLINE);
    config.max_response = 1024 * 1024;
    config.retries = 1;
    let (registry, _) = things(config);
    let mut last = Value::Null;
    for (operation, input) in [("things.get_thing", json!({"id": "1"})), ("things.make_thing", json!({"name": "a"}))] {
        let since = Instant::now();
        let envelope = call(&registry, operation, input).await;
        assert!(since.elapsed() < DEADLINE + SLACK, "{what}: {:?}", since.elapsed());
        assert_eq!(envelope["ok"], false, "{what}: {envelope}");
        let code = envelope["code"].as_str().unwrap();
        assert!(codes.contains(&code), "{what}: {envelope}");
        // Once something was sent, nobody knows what a mutation did.
        if operation == "things.make_thing" {
            assert_eq!(envelope["retryable"], false, "{what}: {envelope}");
        }
        last = envelope;
    }
    last
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_unreachable() {
    for bytes in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"id\":",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n",
    ] {
        ends_with(raw_bytes(bytes).await, &["UPSTREAM_UNREACHABLE"], bytes).await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_http_are_undeclared() {
    let chunked = format!("{HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n");
    for bytes in ["SSH-2.0-OpenSSH_9.9\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\0\0\0\0\0\0\0\0", chunked.as_str()] {
        let envelope = ends_with(raw_bytes(bytes).await, &["UPSTREAM_UNDECLARED", "UPSTREAM_UNREACHABLE"], bytes).await;
        assert_eq!(envelope["details"]["upstream"], "things");
    }
}

#[tokio::test]
async fn a_service_that_is_slow_ends_with_the_deadline() {
    let silent = raw(|stream| async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        drop(stream);
    })
    .await;
    ends_with(silent, &["TIMEOUT"], "silent").await;
    let dripping = raw(|mut stream| async move {
        let head = format!("{HEAD}content-length: 1000\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).await;
        for _ in 0..30 {
            let _ = stream.write_all(b" ").await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
    .await;
    ends_with(dripping, &["TIMEOUT"], "one byte a second").await;
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_it() {
    let endless = raw(|mut stream| async move {
        let _ = stream.write_all(format!("{HEAD}\r\n[\"").as_bytes()).await;
        let chunk = vec![b'a'; 64 * 1024];
        while stream.write_all(&chunk).await.is_ok() {}
    })
    .await;
    ends_with(endless, &["RESULT_TOO_LARGE"], "endless").await;
    let boastful = raw_bytes(format!("{HEAD}content-length: 99999999999\r\n\r\n[")).await;
    let envelope = ends_with(boastful, &["RESULT_TOO_LARGE"], "boastful").await;
    assert_eq!(envelope["details"]["size_bytes"], 99_999_999_999_u64);
}

#[tokio::test]
async fn a_few_bytes_do_not_become_gigabytes() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b'0'; 1024 * 1024];
    for _ in 0..64 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let mut answer = format!("{HEAD}content-encoding: gzip\r\ncontent-length: {}\r\n\r\n", bomb.len()).into_bytes();
    answer.extend_from_slice(&bomb);
    ends_with(raw_bytes(answer).await, &["RESULT_TOO_LARGE"], "bomb").await;
    let garbage = format!("{HEAD}content-encoding: gzip\r\ncontent-length: 9\r\n\r\nnot gzip!");
    ends_with(raw_bytes(garbage).await, &["UPSTREAM_UNDECLARED"], "no gzip").await;
}

#[tokio::test]
async fn redirects_end() {
    let around = raw_bytes("HTTP/1.1 302 Found\r\nlocation: /things/1\r\ncontent-length: 0\r\n\r\n").await;
    let mut config = config(around);
    config.deadline = Some(DEADLINE);
    let (registry, upstream) = things(config);
    let envelope = call(&registry, "things.list_things", json!({})).await;
    assert_eq!(
        (&envelope["code"], &envelope["details"]["reason"]),
        (&json!("UPSTREAM_UNDECLARED"), &json!("redirect"))
    );
    assert_eq!(upstream.status().await.sent, 6, "five are followed");
}

#[tokio::test]
async fn huge_headers_are_refused() {
    let many: String = (0..5000).map(|n| format!("x-header-{n}: {}\r\n", "v".repeat(200))).collect();
    let answer = format!("{HEAD}{many}content-length: 2\r\n\r\n{{}}");
    ends_with(raw_bytes(answer).await, &["UPSTREAM_UNDECLARED", "UPSTREAM_UNREACHABLE"], "headers").await;
}
