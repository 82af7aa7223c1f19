//! Messages that are no requests.

use futures_util::SinkExt as _;
use redress_serve::ws::WebSocketLimits;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::{MaybeTlsStream, tungstenite::Message};

use super::service::{Server, until};

const PARSE: &str = "PARSE_ERROR";
const INVALID: &str = "INVALID_REQUEST";

/// What is sent, the code that it is answered with, and the id.
fn hostile() -> Vec<(String, &'static str, Option<String>)> {
    let a = || Some("a".to_owned());
    let deep = "[".repeat(100_000);
    let nested =
        format!(r#"{{"type":"call.requested","id":"a","payload":{{"operation":"math.double","input":{deep}}}}}"#);
    let long = "i".repeat(129);
    let mut rows: Vec<(String, &str, Option<String>)> = [
        ("", PARSE),
        (" ", PARSE),
        ("{", PARSE),
        ("nonsense", PARSE),
        ("{'type':'call.requested'}", PARSE),
        (r#"{"type":"call.requested","id":"a"}}"#, PARSE),
        (r#"{"type":"call.requested","id":"a",}"#, PARSE),
        ("{\"type\":\"call.requested\",\"id\":\"a\u{1}\"}", PARSE),
        (r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","input":{"n":01}}}"#, PARSE),
        ("NaN", PARSE),
        ("\u{feff}{}", PARSE),
        ("null", INVALID),
        ("true", INVALID),
        ("17", INVALID),
        ("1e999", INVALID),
        (r#""call.requested""#, INVALID),
        ("[]", INVALID),
        (r#"["call.requested","a",{"operation":"math.double"}]"#, INVALID),
        ("{}", INVALID),
        (r#"{"type":"call.requested"}"#, INVALID),
        (r#"{"type":"call.requested","payload":{"operation":"math.double"}}"#, INVALID),
        (r#"{"type":"call.requested","id":7,"payload":{"operation":"math.double"}}"#, INVALID),
        (r#"{"type":"call.requested","id":null,"payload":{"operation":"math.double"}}"#, INVALID),
        (r#"{"type":"call.requested","id":"","payload":{"operation":"math.double"}}"#, INVALID),
        (r#"{"type":"call.requested","id":["a"],"payload":{"operation":"math.double"}}"#, INVALID),
        (r#"{"type":"call.requested","id":"\ud800","payload":{"operation":"math.double"}}"#, INVALID),
        (r#"{"type":"call.requested","id":"a","id":"b","payload":{"operation":"math.double"}}"#, INVALID),
    ]
    .map(|(text, code)| (text.to_owned(), code, None))
    .into();
    let with_id = [
        r#"{"id":"a"}"#,
        r#"{"id":"a","type":null,"payload":{}}"#,
        r#"{"id":"a","type":17,"payload":{}}"#,
        r#"{"id":"a","type":"call.unheard","payload":{}}"#,
        r#"{"id":"a","type":"CALL.REQUESTED","payload":{"operation":"math.double"}}"#,
        r#"{"type":"call.requested","id":"a"}"#,
        r#"{"type":"call.requested","id":"a","payload":null}"#,
        r#"{"type":"call.requested","id":"a","payload":[]}"#,
        r#"{"type":"call.requested","id":"a","payload":"x"}"#,
        r#"{"type":"call.requested","id":"a","payload":{}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":null}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":""}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":["math.double"]}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"\udfff"}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","operationId":"math.double"}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","operation":"math.double"}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","input":{},"input":{}}}"#,
        r#"{"type":"call.requested","id":"a","type":"call.aborted","payload":{}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","deadline_ms":-1}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","deadline_ms":"5"}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","deadline_ms":1e99}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","deadline_ms":0}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","deadline_ms":86400001}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","deadline_ms":18446744073709551615}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","idempotency_key":{}}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","idempotency_key":""}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","idempotency_key":"a b"}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","idempotency_key":"a\nb"}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","idempotency_key":"é"}}"#,
        // Written well, where none is taken.
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","input":{"n":1},"idempotency_key":"k"}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","auth_token":5}}"#,
        r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","last_event_id":5}}"#,
        r#"{"type":"call.responded","id":"a","payload":{}}"#,
        r#"{"type":"call.responded","id":"a"}"#,
        r#"{"type":"call.error","id":"a"}"#,
    ];
    rows.extend(with_id.map(|text| (text.to_owned(), INVALID, a())));
    let key = "k".repeat(256);
    rows.push((
        format!(
            r#"{{"type":"call.requested","id":"a","payload":{{"operation":"math.double","idempotency_key":"{key}"}}}}"#
        ),
        INVALID,
        a(),
    ));
    rows.push((
        r#"{"type":"call.requested","id":"srv-1","payload":{"operation":"math.double"}}"#.into(),
        INVALID,
        Some("srv-1".into()),
    ));
    rows.push((
        format!(r#"{{"type":"call.requested","id":"{long}","payload":{{"operation":"math.double"}}}}"#),
        INVALID,
        None,
    ));
    rows.push((deep, INVALID, None));
    rows.push((nested, INVALID, None));
    rows
}

#[tokio::test]
async fn each_is_answered_with_its_code_and_its_id_and_the_socket_stays() {
    let mut limits = WebSocketLimits::default();
    limits.malformed = 1000;
    let server = Server::start(limits).await;
    let mut client = server.connect().await;
    let rows = hostile();
    assert!(rows.len() >= 50);
    for (text, code, id) in rows {
        client.send_text(&text).await;
        let answer = client.next().await;
        let shown = text.get(..120).unwrap_or(&text);
        assert_eq!(answer["type"], "call.error", "{shown}");
        assert_eq!(answer["payload"]["code"], code, "{shown}");
        assert_eq!(answer["id"], id.map_or(Value::Null, Value::String), "{shown}");
    }
    client.socket.send(Message::binary(b"\xff\xfe{}".to_vec())).await.unwrap();
    assert_eq!(client.next().await["payload"]["code"], PARSE);
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
}

#[tokio::test]
async fn who_sends_a_bad_key_or_deadline_is_told_what_one_is_as_over_http() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for (member, value, expected) in [
        ("idempotency_key", json!("a b"), "1 to 255 visible ASCII characters"),
        ("deadline_ms", json!(0), "a whole number of milliseconds, from 1 to 86400000"),
    ] {
        let payload = json!({"operation": "math.double", member: value});
        client.send_text(json!({"type": "call.requested", "id": "a", "payload": payload}).to_string()).await;
        let refused = client.next().await;
        let hint = format!("Send {expected} at `/payload/{member}` of the message, or leave it out.");
        assert_eq!(refused["payload"]["hint"], hint);
    }
}

#[tokio::test]
async fn odd_messages_that_are_requests_all_the_same_go_to_the_operation() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    let rows = [
        (r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","input":null}}"#, "INVALID_INPUT"),
        (r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double"}}"#, "INVALID_INPUT"),
        (r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","input":"\ud800"}}"#, "PARSE_ERROR"),
        (
            r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","input":{"n":1e999}}}"#,
            "PARSE_ERROR",
        ),
        (r#"{"type":"call.requested","id":"a","payload":{"operation":"../etc/passwd","input":{}}}"#, "NOT_FOUND"),
    ];
    for (text, code) in rows {
        client.send_text(text).await;
        let answer = client.next().await;
        assert_eq!((answer["id"].as_str(), answer["payload"]["code"].as_str()), (Some("a"), Some(code)), "{text}");
    }
    let deep = "[".repeat(200) + &"]".repeat(200);
    client
        .send_text(format!(
            r#"{{"type":"call.requested","id":"a","payload":{{"operation":"math.double","input":{deep}}}}}"#
        ))
        .await;
    assert_eq!(client.next().await["payload"]["code"], "PAYLOAD_TOO_LARGE");
    client.send_text(r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","deadline_ms":86400000,"input":{"n":1}}}"#).await;
    assert_eq!(client.next().await["payload"]["output"], 2);
    // A server that takes no credentials lets them be, as it does with the header.
    client.send_text(r#"{"type":"call.requested","id":"a","payload":{"operation":"math.double","auth_token":"t","input":{"n":1}}}"#).await;
    assert_eq!(client.next().await["payload"]["output"], 2);
}

#[tokio::test]
async fn too_many_of_them_close_the_socket() {
    let server = Server::start(WebSocketLimits::default()).await;
    let mut client = server.connect().await;
    for _ in 0..16 {
        client.send_text("{").await;
    }
    for _ in 0..16 {
        assert_eq!(client.next().await["payload"]["code"], PARSE);
    }
    assert_eq!(client.close_code().await, 1008);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_and_one_far_beyond_closes_the_socket() {
    let mut limits = WebSocketLimits::default();
    limits.message_bytes = 4096;
    let server = Server::start(limits).await;
    let mut client = server.connect().await;
    client.ask("big", "math.double", json!({"n": "x".repeat(5000)})).await;
    let answer = client.next().await;
    assert_eq!((answer["id"].as_str(), answer["payload"]["code"].as_str()), (Some("big"), Some("PAYLOAD_TOO_LARGE")));
    assert_eq!(client.call("math.double", json!({"n": 1})).await["payload"]["output"], 2);
    client.ask("huge", "math.double", json!({"n": "x".repeat(50_000)})).await;
    assert_eq!(client.close_code().await, 1009);
}

#[tokio::test]
async fn a_plain_request_is_told_what_is_here() {
    let server = Server::start(WebSocketLimits::default()).await;
    let url = server.url.replace("ws://", "http://");
    let response = reqwest::get(&url).await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
    let body: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    assert_eq!(body["code"], INVALID);
}

#[tokio::test]
async fn what_is_no_frame_closes_the_socket_and_cancels_what_runs_on_it() {
    let violations: [(&str, u16, &[u8]); 6] = [
        ("a frame that is not masked", 1002, &[0x81, 0x02, b'{', b'}']),
        ("an opcode that is reserved", 1002, &[0x83, 0x80, 0, 0, 0, 0]),
        ("a bit that is reserved", 1002, &[0xC1, 0x80, 0, 0, 0, 0]),
        ("a ping in two frames", 1002, &[0x09, 0x80, 0, 0, 0, 0]),
        ("a text that is no UTF-8", 1007, &[0x81, 0x82, 0, 0, 0, 0, 0xC3, 0x28]),
        ("a text in two frames that is no UTF-8", 1007, &[0x01, 0x81, 0, 0, 0, 0, 0xC3, 0x80, 0x81, 0, 0, 0, 0, 0x28]),
    ];
    for (what, code, bytes) in violations {
        let server = Server::start(WebSocketLimits::default()).await;
        let mut client = server.connect().await;
        client.ask("a", "test.never", json!({})).await;
        until(|| server.begun() == 1).await;
        let MaybeTlsStream::Plain(stream) = client.socket.get_mut() else { panic!("there is no TLS here") };
        stream.write_all(bytes).await.unwrap();
        assert_eq!(client.close_code().await, code, "{what}");
        until(|| server.dropped() == 1).await;
    }
}
