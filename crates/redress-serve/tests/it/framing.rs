//! Messages that can be read in two ways: by which host, in which coding, by which of two headers.

use redress_serve::Faces;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::{connections::last_words, service::Running};

const GREET: &str = r#"{"name":"Ada"}"#;

async fn raw(running: &Running, request: &str) -> (u16, String, Value) {
    let answer = last_words(&mut TcpStream::connect(running.address).await.unwrap(), request).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}\n{answer}"));
    let status = head[9..12].parse().unwrap();
    (status, head.to_owned(), serde_json::from_str(body).unwrap_or_default())
}

/// A call with these headers, on a connection that ends with it.
async fn greet(running: &Running, path: &str, body: &str, headers: &str) -> (u16, String, Value) {
    let length = body.len();
    let ends = "connection: close\r\naccept: application/json, text/event-stream\r\n";
    let head = format!("POST {path} HTTP/1.1\r\n{ends}content-length: {length}\r\n{headers}\r\n");
    raw(running, &(head + body)).await
}

#[tokio::test]
async fn a_message_names_one_host_and_no_other() {
    let running = Running::start().await;
    let greet = |line: &str, hosts: &str| {
        let length = GREET.len();
        format!("{line}\r\n{hosts}connection: close\r\ncontent-length: {length}\r\n\r\n{GREET}")
    };
    for (line, hosts, status) in [
        ("POST /ops/demo/greet HTTP/1.1", "host: localhost\r\n", 200),
        ("POST /ops/demo/greet HTTP/1.1", "HOST: LocalHost:7717\r\n", 200),
        ("POST /ops/demo/greet HTTP/1.1", "host: [::1]:7717\r\n", 200),
        ("POST /ops/demo/greet HTTP/1.0", "", 200),
        ("POST http://localhost/ops/demo/greet HTTP/1.1", "host: localhost\r\n", 200),
        ("POST /ops/demo/greet HTTP/1.1", "", 400),
        ("POST /ops/demo/greet HTTP/1.1", "host: localhost\r\nhost: localhost\r\n", 400),
        ("POST /ops/demo/greet HTTP/1.1", "host: localhost\r\nhost: evil.example\r\n", 400),
        ("POST /ops/demo/greet HTTP/1.1", "host: localhost, evil.example\r\n", 400),
        ("POST /ops/demo/greet HTTP/1.1", "host: localhost@evil.example\r\n", 400),
        ("POST /ops/demo/greet HTTP/1.1", "host: localhost/evil\r\n", 400),
        ("POST /ops/demo/greet HTTP/1.1", "host: local host\r\n", 400),
        ("POST http://evil.example/ops/demo/greet HTTP/1.1", "host: localhost\r\n", 400),
        ("POST http://localhost:1/ops/demo/greet HTTP/1.1", "host: localhost\r\n", 400),
        ("POST http://user@localhost/ops/demo/greet HTTP/1.1", "host: user@localhost\r\n", 400),
        ("POST http://localhost/ops/demo/greet HTTP/1.1", "", 400),
    ] {
        let (answered, head, problem) = raw(&running, &greet(line, hosts)).await;
        assert_eq!(answered, status, "{line} {hosts:?}\n{head}");
        if status != 200 {
            assert_eq!((&problem["code"], &problem["details"]["header"]), (&"INVALID_REQUEST".into(), &"Host".into()));
            assert!(head.contains("x-request-id: ") && head.contains("connection: close"), "{head}");
        }
    }
}

#[tokio::test]
async fn a_coding_that_is_not_read_is_refused_and_ends_the_connection() {
    let running = Running::start().await;
    let chunks = "e\r\n{\"name\":\"Ada\"}\r\n0\r\n\r\n";
    for (codings, statuses) in [
        ("transfer-encoding: chunked\r\n", &[200][..]),
        ("transfer-encoding: Chunked\r\n", &[200]),
        ("transfer-encoding: gzip, chunked\r\n", &[501]),
        ("transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n", &[501]),
        ("transfer-encoding: identity, chunked\r\n", &[501]),
        ("transfer-encoding: chunked, chunked\r\n", &[400, 501]),
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", &[400, 501]),
        ("transfer-encoding: chunked;a=b\r\n", &[400, 501]),
        ("transfer-encoding: \"chunked\"\r\n", &[400, 501]),
    ] {
        let close = if statuses == [200] { "connection: close\r\n" } else { "" };
        let request = format!("POST /ops/demo/greet HTTP/1.1\r\nhost: localhost\r\n{close}{codings}\r\n{chunks}");
        let (answered, head, _) = raw(&running, &request).await;
        assert!(statuses.contains(&answered), "{codings}\n{head}");
    }
}

/// hyper drops the length beside chunks, in whichever order they come, and ends the connection: what a proxy that goes by
/// the length would take for a second message is never read as one.
#[tokio::test]
async fn of_a_length_and_chunks_the_chunks_count_and_nothing_behind_them_is_read() {
    let running = Running::start().await;
    let chunks = "e\r\n{\"name\":\"Ada\"}\r\n0\r\n\r\n";
    let smuggled = "GET /ops HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (length, coding) = ("content-length: 4\r\n", "transfer-encoding: chunked\r\n");
    for both in [[length, coding], [coding, length]].map(|both| both.concat()) {
        let request = format!("POST /ops/demo/greet HTTP/1.1\r\nhost: localhost\r\n{both}\r\n{chunks}{smuggled}");
        let answer = last_words(&mut TcpStream::connect(running.address).await.unwrap(), &request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{both}\n{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{both}\n{answer}");
    }
}

/// What may be sent once: of two, each face says which header it is.
#[tokio::test]
async fn a_header_that_holds_one_value_is_refused_where_there_are_two_on_every_face() {
    let running = Running::start().await;
    let ways = [
        ("/ops/demo/greet", GREET.to_owned()),
        ("/call", format!(r#"{{"operation":"demo.greet","input":{GREET}}}"#)),
        ("/batch", format!(r#"[{{"operation":"demo.greet","input":{GREET}}}]"#)),
        ("/subscribe", r#"{"operation":"demo.count","input":{"to":1}}"#.to_owned()),
        ("/rpc", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"demo.greet","params":{GREET}}}"#)),
        ("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned()),
    ];
    let json = "content-type: application/json\r\n";
    for (name, one, other) in [
        ("Authorization", "Bearer a", "Bearer b"),
        ("Authorization", "Basic a", "Bearer b"),
        ("Content-Type", "application/json", "application/json"),
        ("Idempotency-Key", "a", "a"),
        ("Redress-Deadline-Ms", "1000", "2000"),
        ("Last-Event-ID", "1", "2"),
        ("Origin", "http://localhost", "http://evil.example"),
        ("Sec-Fetch-Site", "none", "cross-site"),
        ("Mcp-Session-Id", "a", "b"),
        ("MCP-Protocol-Version", "2025-06-18", "2025-11-25"),
    ] {
        for (path, body) in &ways {
            let twice = format!("host: localhost\r\n{name}: {one}\r\n{name}: {other}\r\n");
            let twice = if name == "Content-Type" { twice } else { twice + json };
            let (status, head, answer) = greet(&running, path, body, &twice).await;
            assert_eq!(status, 400, "{path} {name}\n{head}");
            let problem = if matches!(*path, "/rpc" | "/mcp") { &answer["error"]["data"] } else { &answer };
            let told = (&problem["code"], &problem["details"]["header"]);
            assert_eq!(told, (&"INVALID_REQUEST".into(), &name.into()), "{path}\n{answer}");
        }
        for path in ["/ops", "/contract.json", "/errors", "/ops/demo/closed", "/ws"] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{name}: {one}\r\n{name}: {other}\r\n\r\n"
            );
            let (status, head, _) = raw(&running, &request).await;
            assert_eq!(status, 400, "{path} {name}\n{head}");
        }
    }
    // A name of the caller's own is replaced where it is in doubt, and so is its trace.
    let twice = format!("host: localhost\r\n{json}x-request-id: one\r\nx-request-id: other\r\n");
    let (status, head, _) = greet(&running, "/ops/demo/greet", GREET, &twice).await;
    assert!(status == 200 && !head.contains("x-request-id: one") && !head.contains("x-request-id: other"), "{head}");
}

#[tokio::test]
async fn a_body_that_is_encoded_is_refused_on_every_face() {
    let running = Running::start().await;
    for path in ["/ops/demo/greet", "/call", "/batch", "/subscribe", "/rpc", "/mcp"] {
        for (encoding, refused) in [("gzip", true), ("br", true), ("identity, gzip", true), ("identity", false)] {
            let headers =
                format!("host: localhost\r\ncontent-type: application/json\r\ncontent-encoding: {encoding}\r\n");
            let (status, head, _) = greet(&running, path, GREET, &headers).await;
            assert_eq!(status == 415, refused, "{path} {encoding}\n{head}");
        }
    }
}

#[tokio::test]
async fn no_answer_may_be_taken_for_something_else_than_it_says() {
    let running = Running::with(|faces: Faces| faces.metrics(|| "a 1\n".to_owned())).await;
    for (method, path) in [
        ("GET", "/ops"),
        ("GET", "/openapi.json"),
        ("GET", "/errors"),
        ("GET", "/errors/TIMEOUT"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/nowhere"),
        ("GET", "/ops/demo/closed"),
        ("GET", "/ws"),
        ("POST", "/ops/demo/greet"),
        ("POST", "/call"),
        ("POST", "/rpc"),
        ("POST", "/mcp"),
        ("PUT", "/call"),
        ("OPTIONS", "/call"),
    ] {
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        let (_, head, _) = raw(&running, &request).await;
        assert!(head.contains("x-content-type-options: nosniff"), "{method} {path}\n{head}");
    }
    let (_, head, _) = raw(&running, "GET /healthz HTTP/1.1\r\n\r\n").await;
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
}

#[tokio::test]
async fn a_deadline_of_nothing_is_refused_alike_on_every_face() {
    let running = Running::start().await;
    for path in ["/ops/demo/greet", "/call", "/batch", "/subscribe", "/rpc", "/mcp"] {
        for deadline in ["0", "86400001", "1.5", "-1", "", "+1"] {
            let headers =
                format!("host: localhost\r\ncontent-type: application/json\r\nredress-deadline-ms: {deadline}\r\n");
            let (status, head, _) = greet(&running, path, GREET, &headers).await;
            assert_eq!(status, 400, "{path} {deadline}\n{head}");
        }
    }
}

#[tokio::test]
async fn the_key_of_a_handshake_is_sixteen_bytes() {
    let running = Running::start().await;
    for (key, status) in [
        ("dGhlIHNhbXBsZSBub25jZQ==", 101),
        ("AAAAAAAAAAAAAAAAAAAAAA==", 101),
        ("", 400),
        ("short", 400),
        ("dGhlIHNhbXBsZSBub25jZQ", 400),
        ("dGhlIHNhbXBsZSBub25jZR==", 400),
        ("dGhlIHNhbXBsZSBub25j", 400),
        ("dGhlIHNhbXBsZSBub25jZSE=", 400),
        ("dGhlIHNhbXBsZSBub25jZQ===", 400),
        ("dGhlIHNhbXBsZSBub25j!Q==", 400),
    ] {
        let request = format!(
            "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n"
        );
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let answer = crate::connections::exchange(&mut stream, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{key}\n{answer}");
    }
}
