//! Web pages that send messages to a server of their visitor's own machine: CSRF, cross-site
//! WebSocket hijacking (CSWSH) and DNS rebinding, on every face.
//!
//! The rows are what Chromium 148 sent, in November 2026, from pages on ports and names of the same
//! machine and of another to a server that wrote down what came; those of browsers without Fetch
//! Metadata are the same without it. `OWN` stands for the address of the server.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use futures_util::{SinkExt as _, StreamExt as _, stream};
use redress_core::{
    Events, Operation, Registry,
    contract::{self, Access},
};
use redress_serve::Faces;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{connect_async, tungstenite::Message};

use crate::{
    connections::{exchange, last_words},
    service::Running,
};

/// What a browser sends beside the message, and whether the page acts as its visitor.
type Row = (&'static str, bool, &'static [(&'static str, &'static str)]);

const SITE: &str = "sec-fetch-site";
const ROWS: &[Row] = &[
    ("no browser", true, &[("host", "OWN")]),
    ("no browser, by a name of this machine", true, &[("host", "api.localhost")]),
    ("an address that was typed", true, &[("host", "OWN"), (SITE, "none")]),
    ("the server's own page, GET", true, &[("host", "OWN"), (SITE, "same-origin")]),
    ("the server's own page, POST", true, &[("host", "OWN"), ("origin", "http://OWN"), (SITE, "same-origin")]),
    ("the server's own page, WebSocket", true, &[("host", "OWN"), ("origin", "http://OWN")]),
    ("a page that is named", true, &[("host", "OWN"), ("origin", "http://localhost:3000"), (SITE, "cross-site")]),
    ("a page that is named, WebSocket", true, &[("host", "OWN"), ("origin", "http://localhost:3000")]),
    // fetch, sendBeacon, EventSource
    ("another port", false, &[("host", "OWN"), ("origin", "http://127.0.0.1:5500"), (SITE, "same-site")]),
    ("localhost", false, &[("host", "OWN"), ("origin", "http://localhost:5500"), (SITE, "cross-site")]),
    ("*.localhost", false, &[("host", "OWN"), ("origin", "http://evil.localhost:5500"), (SITE, "cross-site")]),
    ("elsewhere", false, &[("host", "OWN"), ("origin", "http://evil.example"), (SITE, "cross-site")]),
    ("a sandboxed frame, or data:", false, &[("host", "OWN"), ("origin", "null"), (SITE, "cross-site")]),
    ("an extension", false, &[("host", "OWN"), ("origin", "chrome-extension://abc"), (SITE, "none")]),
    ("the own name by the other scheme", false, &[("host", "OWN"), ("origin", "https://OWN")]),
    // WebSocket, which Chromium sends no Fetch Metadata with, and browsers that know none
    ("another port, WebSocket", false, &[("host", "OWN"), ("origin", "http://127.0.0.1:5500")]),
    ("localhost, WebSocket", false, &[("host", "OWN"), ("origin", "http://localhost:5500")]),
    ("*.localhost, WebSocket", false, &[("host", "OWN"), ("origin", "http://evil.localhost:5500")]),
    ("elsewhere, WebSocket", false, &[("host", "OWN"), ("origin", "http://evil.example:5500")]),
    ("a sandboxed frame, WebSocket", false, &[("host", "OWN"), ("origin", "null")]),
    // <img>, <script>, a form with GET, fetch with GET and no-cors, a link
    ("another port, GET", false, &[("host", "OWN"), (SITE, "same-site")]),
    ("elsewhere, GET", false, &[("host", "OWN"), (SITE, "cross-site")]),
    // DNS rebinding: the page has the server's address by then, and is of the same origin
    (
        "a name that was bound anew",
        false,
        &[("host", "evil.example:7717"), ("origin", "http://evil.example:7717"), (SITE, "same-origin")],
    ),
    // Names that browsers do not trust get no Fetch Metadata, and a GET with no-referrer has nothing at all
    ("a name that was bound anew, GET", false, &[("host", "evil.example:7717")]),
    ("a name that was bound anew, longer", false, &[("host", "127.0.0.1.evil.example:7717")]),
];

/// A service whose operations count the calls that got through.
async fn serve() -> (Running, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let declare = |operation: contract::OperationDeclaration| {
        operation.with_summary("For callers alone.").with_access(Access::caller()).with_input(json!({"type": "object"}))
    };
    let counted = |declared: contract::OperationDeclaration| {
        let runs = Arc::clone(&runs);
        Operation::dynamic(declared).with_handler(move |_, _| {
            let run = runs.fetch_add(1, SeqCst);
            async move { Ok(json!({"run": run})) }
        })
    };
    let followed = Arc::clone(&runs);
    let follow = Operation::dynamic(declare(contract::OperationDeclaration::subscription("page.follow")))
        .with_stream_handler(move |_, _| {
            followed.fetch_add(1, SeqCst);
            async { Ok(Events::new(stream::iter([Ok(json!(1))]))) }
        });
    let registry = Registry::builder()
        .add(counted(declare(contract::OperationDeclaration::mutation("page.write"))))
        .add(counted(declare(contract::OperationDeclaration::query("page.read"))))
        .add(counted(
            contract::OperationDeclaration::mutation("page.open")
                .with_summary("For all.")
                .with_access(Access::anyone()),
        ))
        .add(follow)
        .build()
        .unwrap();
    let faces = Faces::new(registry).cors_origins(["http://localhost:3000"]).metrics(|| "page_counts 1\n".to_owned());
    let running = Running::of(faces, Default::default(), Default::default()).await;
    (running, runs)
}

fn written(running: &Running, headers: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = running.address.to_string();
    headers.iter().map(|(name, value)| ((*name).to_owned(), value.replace("OWN", &own))).collect()
}

/// One message and the answer to it, on a connection of its own.
async fn send(running: &Running, line: &str, headers: &[(String, String)], more: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let said: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\n{said}{more}accept: application/json, text/event-stream\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    last_words(&mut stream, &request).await
}

/// Every way in over HTTP that runs a call: its request line, and its body.
fn ways() -> Vec<(&'static str, String)> {
    let call = |name: &str| json!({"operation": name, "input": {}});
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "page.write", "params": {}});
    let mcp =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "page_write", "arguments": {}}});
    vec![
        ("POST /ops/page/write", "{}".to_owned()),
        ("POST /ops/page/write", String::new()),
        ("POST /ops/page/follow", "{}".to_owned()),
        ("POST /call", call("page.write").to_string()),
        ("POST /batch", json!([call("page.write")]).to_string()),
        ("POST /subscribe", call("page.follow").to_string()),
        ("POST /rpc", rpc.to_string()),
        ("POST /rpc", json!([rpc]).to_string()),
        ("POST /mcp", mcp.to_string()),
    ]
}

#[tokio::test]
async fn a_page_of_another_origin_is_a_stranger_on_every_face_over_http() {
    let (running, runs) = serve().await;
    for (from, acts, headers) in ROWS {
        let headers = written(&running, headers);
        for (way, body) in ways() {
            for kind in ["", "content-type: application/json\r\n"] {
                let before = runs.load(SeqCst);
                let answer = send(&running, way, &headers, kind, &body).await;
                // A message of MCP says that it is JSON, whoever sends it.
                let runs_here = *acts && !(way.ends_with("mcp") && kind.is_empty());
                assert_eq!(runs.load(SeqCst) - before, usize::from(runs_here), "{from}: {way} {kind}\n{answer}");
            }
        }
        let before = runs.load(SeqCst);
        let answer = send(&running, "GET /ops/page/read", &headers, "", "").await;
        assert_eq!(runs.load(SeqCst) - before, usize::from(*acts), "{from}: GET\n{answer}");
        let before = runs.load(SeqCst);
        let answer = send(&running, "GET /ops/page/follow", &headers, "", "").await;
        assert_eq!(runs.load(SeqCst) - before, usize::from(*acts), "{from}: a stream by GET\n{answer}");
        let answer = send(&running, "GET /", &headers, "accept: text/html\r\n", "").await;
        assert_eq!(answer.contains("page.write"), *acts, "{from}: /\n{answer}");
        for path in ["/ops", "/contract.json", "/openapi.json", "/openrpc.json"] {
            let answer = send(&running, &format!("GET {path}"), &headers, "", "").await;
            assert_eq!(answer.contains("page.write"), *acts, "{from}: {path}\n{answer}");
        }
        let answer = send(&running, "GET /metrics", &headers, "", "").await;
        assert_eq!(answer.contains("page_counts"), *acts, "{from}: /metrics\n{answer}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_is_a_stranger_on_a_web_socket() {
    let (running, runs) = serve().await;
    for (from, acts, headers) in ROWS {
        let headers = written(&running, headers);
        let mut request = axum::http::Request::get(format!("ws://{}/ws", running.address))
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let before = runs.load(SeqCst);
        if let Ok((mut socket, _)) = connect_async(request.body(()).unwrap()).await {
            for (id, operation) in [("1", "page.write"), ("2", "page.follow")] {
                let call =
                    json!({"type": "call.requested", "id": id, "payload": {"operation": operation, "input": {}}});
                socket.send(Message::text(call.to_string())).await.unwrap();
                let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
                let answer: Value = serde_json::from_str(&answer).unwrap();
                assert_eq!(answer["type"] == "call.responded", *acts, "{from}: {answer}");
            }
        } else {
            assert!(!acts, "{from}");
        }
        assert_eq!(runs.load(SeqCst) - before, 2 * usize::from(*acts), "{from}");
    }
}

#[tokio::test]
async fn a_stranger_at_a_server_that_takes_no_credentials_is_not_asked_for_any() {
    let (running, _) = serve().await;
    let stranger = [("host".to_owned(), "evil.example:7717".to_owned())];
    let json = "content-type: application/json\r\n";
    for (way, body) in ways().into_iter().filter(|(way, _)| !way.ends_with("mcp")) {
        let answer = send(&running, way, &stranger, json, &body).await;
        assert!(answer.contains("AUTH_REQUIRED"), "{way}: {answer}");
        assert!(answer.contains("This server takes no credentials") && answer.contains("`127.0.0.1`"), "{answer}");
    }
    let request = axum::http::Request::get(format!("ws://{}/ws", running.address))
        .header("host", "evil.example")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let (mut socket, _) = connect_async(request.body(()).unwrap()).await.unwrap();
    let call = json!({"type": "call.requested", "id": "1", "payload": {"operation": "page.write", "input": {}}});
    socket.send(Message::text(call.to_string())).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
    assert!(answer.contains("AUTH_REQUIRED") && answer.contains("This server takes no credentials"), "{answer}");
}

#[tokio::test]
async fn what_a_browser_sends_without_asking_is_refused_of_pages_of_elsewhere_even_where_anyone_may_call() {
    let (running, runs) = serve().await;
    let own = running.address.to_string();
    for origin in ["http://127.0.0.1:5500", "http://evil.example", "null"] {
        let headers = [("host".to_owned(), own.clone()), ("origin".to_owned(), origin.to_owned())];
        for (body, kind) in [
            ("{}", ""),
            ("", ""),
            ("{}", "content-type: text/plain;charset=UTF-8\r\n"),
            ("{}", "content-type: application/x-www-form-urlencoded\r\n"),
            ("{}", "content-type: multipart/form-data\r\n"),
        ] {
            let answer = send(&running, "POST /ops/page/open", &headers, kind, body).await;
            assert!(
                answer.starts_with("HTTP/1.1 415") && answer.contains("INVALID_REQUEST"),
                "{origin} {kind}\n{answer}"
            );
        }
        let upgrade = format!(
            "GET /ws HTTP/1.1\r\nhost: {own}\r\norigin: {origin}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        let answer = exchange(&mut TcpStream::connect(running.address).await.unwrap(), &upgrade).await;
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("FORBIDDEN"), "{answer}");
        let refused: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(refused["error"], "pages of this origin may not call");
        assert_eq!(refused["recovery"], json!({"verb": "ask_user"}), "no scope helps");
        assert!(refused["hint"].as_str().unwrap().contains("`http.cors_origins`"), "{refused}");
    }
    assert_eq!(runs.load(SeqCst), 0);
}
