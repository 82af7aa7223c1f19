//! Messages that nobody should send, and what they get.

use serde_json::json;

use crate::service::{Answer, LEGACY, MODERN, Running, failure};

#[tokio::test]
async fn what_is_no_request_is_told_so() {
    let running = Running::start().await;
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let deep_member = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{deep}}}"#);
    for (body, status, code) in [
        ("", 400, -32700),
        ("{", 400, -32700),
        ("\u{0}", 400, -32700),
        ("null", 400, -32600),
        ("7", 400, -32600),
        ("[]", 400, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#, 400, -32600),
        (r#"{"id":1,"method":"ping"}"#, 400, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"no/such"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["demo_number"]}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, 200, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo_number","name":"demo_find"}}"#,
            200,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo_number","_meta":7}}"#, 200, -32602),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo_number","_meta":{"progressToken":{}}}}"#,
            200,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}"#, 200, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, 200, -32602),
        (&deep, 400, -32600),
        (&deep_member, 200, -32602),
    ] {
        let answer = running.send(body, &[]).await;
        let shown: String = body.chars().take(120).collect();
        assert_eq!((answer.status, answer.error().0), (status, code), "{shown} {answer:?}");
    }
    assert_eq!(running.call(LEGACY, "demo_number", json!({})).await.status, 200, "and it still serves");
}

#[tokio::test]
async fn arguments_are_bounded_in_size_and_depth() {
    let running = Running::start().await;
    let deep = format!("{}1{}", r#"{"name":"#.repeat(5_000), "}".repeat(5_000));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"demo_greet","arguments":{deep}}}}}"#
    );
    assert_eq!(failure(&running.send(body, &[]).await.result())["code"], "PAYLOAD_TOO_LARGE");
    let large = running.call(MODERN, "demo_greet", json!({"name": "x".repeat(70_000)})).await;
    assert_eq!(failure(&large.result())["code"], "PAYLOAD_TOO_LARGE");
    let huge = running.call(MODERN, "demo_greet", json!({"name": "x".repeat(1_000_000)})).await;
    assert_eq!((huge.status, huge.error().0), (413, -32600));
}

#[tokio::test]
async fn only_json_is_taken_and_only_with_post() {
    let running = Running::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(running.send(ping, &[("content-type", "text/plain")]).await.status, 415);
    assert_eq!(running.send(ping, &[("accept", "text/html")]).await.status, 406);
    for accept in ["application/json", "*/*", "text/event-stream, application/json;q=0.9"] {
        assert_eq!(running.send(ping, &[("accept", accept)]).await.status, 200, "{accept}");
    }
    let got = running.client.get(running.url()).send().await.unwrap();
    assert_eq!((got.status().as_u16(), got.headers()["allow"].to_str().unwrap()), (405, "POST"));
    let gone = running.client.delete(running.url()).header("mcp-session-id", "made-up").send().await.unwrap();
    assert!(!gone.status().is_server_error(), "{gone:?}");
    let made_up = running.send(ping, &[("mcp-session-id", "made-up"), ("mcp-protocol-version", LEGACY)]).await;
    assert_eq!(made_up.status, 404, "a session that is over is told so, whatever it asks");
}

#[tokio::test]
async fn pages_of_others_and_made_up_names_are_turned_away() {
    let running = Running::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let own = format!("http://{}", running.address);
    for header in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:6274"),
        ("origin", "http://127.0.0.1:9999"),
        ("origin", "http://127.0.0.1"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("host", "evil.example"),
    ] {
        assert_eq!(running.send(ping, &[header]).await.status, 403, "{header:?}");
    }
    assert_eq!(running.send(ping, &[("origin", &own)]).await.status, 200);
    assert_eq!(running.send(ping, &[("origin", &own), ("sec-fetch-site", "same-origin")]).await.status, 200);
    // Of two origins nobody knows which one counts.
    assert_eq!(running.send(ping, &[("origin", &own), ("origin", "http://127.0.0.1:9999")]).await.status, 400);
}

#[tokio::test]
async fn what_tells_whose_message_it_is_stands_once() {
    let running = Running::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let long = "a".repeat(8_000);
    for (status, headers) in [
        (400, vec![("mcp-session-id", "a"), ("mcp-session-id", "a")]),
        (400, vec![("mcp-session-id", "a"), ("mcp-session-id", "b")]),
        (400, vec![("mcp-protocol-version", LEGACY), ("mcp-protocol-version", LEGACY)]),
        (400, vec![("mcp-protocol-version", LEGACY), ("mcp-protocol-version", MODERN)]),
        (400, vec![("authorization", "Bearer a"), ("authorization", "Bearer b")]),
        (400, vec![("last-event-id", "0"), ("last-event-id", "1")]),
        (404, vec![("mcp-session-id", "")]),
        (404, vec![("mcp-session-id", "../../a b;c,d\"e")]),
        (404, vec![("mcp-session-id", &long)]),
        (404, vec![("mcp-session-id", "a, a")]),
        (400, vec![("mcp-protocol-version", "1999-01-01")]),
        (404, vec![("mcp-session-id", "a"), ("mcp-protocol-version", "1999-01-01")]),
        (406, vec![("accept", "text/event-stream")]),
        (406, vec![("accept", "application/jsonx, text/html")]),
        (200, vec![("accept", ",,;q=1,application/json;q=")]),
    ] {
        let answer = running.send(ping, &headers).await;
        assert_eq!(answer.status, status, "{headers:?} {answer:?}");
        if status != 200 {
            assert!(answer.error().0 < 0 && !answer.error().1.is_empty(), "{headers:?}");
        }
    }
    for name in ["mcp-session-id", "mcp-protocol-version", "last-event-id"] {
        let request = running.client.post(running.url()).header("content-type", "application/json").body(ping);
        let answer = request.header(name, b"\xff".as_slice()).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 400, "{name}");
    }
    assert_eq!(running.call(LEGACY, "demo_number", json!({})).await.status, 200, "and it still serves");
}

#[tokio::test]
async fn whatever_refuses_a_message_it_says_so_with_an_envelope() {
    let running = Running::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let huge = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(1_000_000));
    for (status, code, body, header) in [
        (403, "FORBIDDEN", ping, ("origin", "https://evil.example")),
        (403, "FORBIDDEN", ping, ("host", "evil.example")),
        (415, "INVALID_REQUEST", ping, ("content-type", "text/plain")),
        (415, "INVALID_REQUEST", ping, ("content-encoding", "gzip")),
        (406, "INVALID_REQUEST", ping, ("accept", "text/html")),
        (413, "PAYLOAD_TOO_LARGE", &huge, ("x-a", "b")),
        (400, "PARSE_ERROR", "{", ("x-a", "b")),
        (400, "INVALID_REQUEST", "7", ("x-a", "b")),
        (400, "INVALID_REQUEST", "[]", ("x-a", "b")),
    ] {
        let answer = running.send(body, &[header]).await;
        assert_eq!(answer.status, status, "{header:?} {answer:?}");
        assert_envelope(&answer, code);
    }
    let got = running.client.get(running.url()).send().await.unwrap();
    let (status, headers) = (got.status().as_u16(), got.headers().clone());
    let got = Answer { status, headers, text: got.text().await.unwrap() };
    assert_eq!((got.status, got.header("allow")), (405, "POST"));
    assert_envelope(&got, "INVALID_OPERATION_TYPE");
}

/// An error of JSON-RPC whose data is the envelope, under the id that the header has too.
#[track_caller]
fn assert_envelope(answer: &Answer, code: &str) {
    assert!(answer.error().0 < 0, "{answer:?}");
    let data = &answer.json()["error"]["data"];
    assert_eq!((&data["ok"], &data["code"]), (&json!(false), &json!(code)), "{answer:?}");
    assert!(data["hint"].as_str().unwrap().split_whitespace().count() >= 5, "{answer:?}");
    assert_eq!(data["_meta"]["request_id"], answer.header("x-request-id"), "{answer:?}");
    assert_eq!(data["http"], answer.status, "{answer:?}");
}
