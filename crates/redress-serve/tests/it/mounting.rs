//! The faces inside somebody else's server.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, routing::get};
use redress_core::Registry;
use redress_serve::{Faces, Handle};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "mcp")]
use crate::service::Dropped;
use crate::service::{Watched, event, registry};

const SOON: Duration = Duration::from_secs(5);

/// A server of the user's own, with the faces under `/api`.
struct Host {
    address: SocketAddr,
    watched: Arc<Watched>,
    handle: Handle,
    signal: CancellationToken,
    server: JoinHandle<std::io::Result<()>>,
}

impl Host {
    async fn start(grace: Duration) -> Host {
        let watched = Arc::new(Watched::default());
        Host::of(registry(&Default::default(), &watched), watched, grace).await
    }

    async fn of(registry: Registry, watched: Arc<Watched>, grace: Duration) -> Host {
        let faces = Faces::new(registry).server("/api").grace(grace);
        let (faces, handle) = faces.mount();
        let app = Router::new().nest("/api", faces).route("/own", get(async || "mine"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (signal, stopping) = (CancellationToken::new(), handle.clone());
        let told = signal.clone();
        let server = tokio::spawn(
            axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>())
                .with_graceful_shutdown(async move {
                    told.cancelled().await;
                    stopping.stop().await;
                })
                .into_future(),
        );
        Host { address, watched, handle, signal, server }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// A connection that is kept for one request after another.
struct Kept(BufReader<TcpStream>);

impl Kept {
    async fn open(address: SocketAddr) -> Kept {
        Kept(BufReader::new(TcpStream::connect(address).await.unwrap()))
    }

    /// Sends a request and gives the head and the body of its answer.
    async fn ask(&mut self, start: &str, body: &str) -> (String, Value) {
        let length = body.len();
        let message = format!(
            "{start} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.0.write_all(message.as_bytes()).await.unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut head).await.unwrap(), 0, "the connection is closed: {head}");
        }
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).await.unwrap();
        (head, serde_json::from_slice(&body).unwrap())
    }
}

#[tokio::test]
async fn a_new_call_while_others_end_is_told_to_come_again_on_the_connection_that_it_has() {
    let host = Host::start(SOON).await;
    let mut kept = Kept::open(host.address).await;
    let (head, _) = kept.ask("POST /api/ops/demo/greet", r#"{"name":"Ada"}"#).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");

    let client = reqwest::Client::new();
    let running = tokio::spawn(client.post(host.url("/api/ops/demo/wait")).body("{}").send());
    timeout(SOON, host.watched.started.notified()).await.unwrap();
    host.signal.cancel();
    while !host.handle.is_draining() {
        tokio::task::yield_now().await;
    }

    for start in ["POST /api/ops/demo/greet", "GET /api/ops/demo/greet?name=Ada", "POST /api/ops/demo/count"] {
        let (head, problem) = kept.ask(start, r#"{"name":"Ada"}"#).await;
        assert!(head.starts_with("http/1.1 503") && head.contains("retry-after: 1\r\n"), "{start} {head}");
        assert_eq!((&problem["code"], &problem["retry"]), (&json!("OVERLOADED"), &json!("safe")), "{start}");
        assert_eq!(problem["details"]["shutting_down"], true, "{start}");
    }
    let (_, envelope) = kept.ask("POST /api/call", r#"{"operation":"demo.greet","input":{"name":"Ada"}}"#).await;
    assert_eq!((&envelope["ok"], &envelope["code"]), (&json!(false), &json!("OVERLOADED")));
    let (_, response) = kept.ask("POST /api/rpc", r#"{"jsonrpc":"2.0","id":1,"method":"demo.greet"}"#).await;
    assert_eq!((&response["error"]["code"], &response["id"]), (&json!(-32000), &Value::Null));
    #[cfg(feature = "mcp")]
    {
        let (head, response) = kept.ask("POST /api/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
        assert!(head.starts_with("http/1.1 503") && head.contains("retry-after: 1\r\n"), "{head}");
        let envelope = &response["error"]["data"];
        assert_eq!((&response["error"]["code"], &envelope["code"]), (&json!(-32600), &json!("OVERLOADED")));
        assert_eq!((&envelope["retry"], &envelope["details"]["shutting_down"]), (&json!("safe"), &json!(true)));
        let id = envelope["_meta"]["request_id"].as_str().unwrap();
        assert!(!id.is_empty() && head.contains(&format!("x-request-id: {id}\r\n")), "{head} {response}");
    }
    let (head, _) = kept.ask("GET /api/readyz", "").await;
    assert!(head.starts_with("http/1.1 503"), "{head}");
    let (head, _) = kept.ask("GET /api/healthz", "").await;
    assert!(head.starts_with("http/1.1 200"), "{head}");

    host.watched.release.notify_one();
    assert_eq!(running.await.unwrap().unwrap().text().await.unwrap(), "\"released\"");
    timeout(SOON, host.server).await.expect("the server ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_message_that_can_be_read_in_two_ways_is_refused_there_too() {
    use tower::ServiceExt as _;

    let (faces, _handle) = Faces::new(registry(&Default::default(), &Default::default())).mount();
    let ask = async |headers: &[(&str, &str)]| {
        let request = axum::http::Request::post("/ops/demo/greet").header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(axum::body::Body::from(r#"{"name":"Ada"}"#)).unwrap();
        faces.clone().oneshot(request).await.unwrap().status().as_u16()
    };
    for (headers, status) in [
        // What a test makes in the same process names no host.
        (&[][..], 200),
        (&[("host", "localhost")], 200),
        (&[("host", "localhost"), ("host", "evil.example")], 400),
        (&[("host", "user@localhost")], 400),
        (&[("host", "localhost"), ("transfer-encoding", "chunked"), ("content-length", "14")], 400),
        (&[("host", "localhost"), ("transfer-encoding", "gzip, chunked")], 501),
        (&[("host", "localhost"), ("transfer-encoding", "chunked"), ("transfer-encoding", "identity")], 501),
    ] {
        assert_eq!(ask(headers).await, status, "{headers:?}");
    }
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cancelled_and_open_streams_get_their_last_event() {
    let host = Host::start(Duration::from_millis(20)).await;
    let client = reqwest::Client::new();
    let mut stream =
        client.post(host.url("/api/ops/demo/count")).body(r#"{"to":1,"then":"hang"}"#).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().unwrap().starts_with(b"id: 1"));
    let running = tokio::spawn(client.post(host.url("/api/ops/demo/wait")).body("{}").send());
    timeout(SOON, host.watched.started.notified()).await.unwrap();
    host.signal.cancel();
    assert_eq!(running.await.unwrap().unwrap().status().as_u16(), 499);
    let rest = timeout(SOON, stream.text()).await.expect("the stream ends").unwrap();
    let (name, _, data) = rest.split("\n\n").find_map(event).unwrap();
    assert_eq!((name.as_str(), &data["code"]), ("error", &json!("OVERLOADED")));
    drop(client);
    timeout(SOON, host.server).await.expect("the server ends").unwrap().unwrap();
}

#[tokio::test]
async fn the_rest_of_the_app_is_untouched_and_the_faces_know_where_they_are() {
    let host = Host::start(SOON).await;
    let text = async |path: &str| reqwest::get(host.url(path)).await.unwrap().text().await.unwrap();
    assert_eq!(text("/own").await, "mine");
    assert_eq!(text("/api/ops/demo/greet?name=Ada").await, r#"{"message":"hello Ada"}"#);
    let document: Value = serde_json::from_str(&text("/api/openapi.json").await).unwrap();
    assert_eq!(document["servers"][0]["url"], "/api");
    // Whoever calls from this machine is told by the address that the server hands on.
    let client = reqwest::Client::new();
    let closed = client.post(host.url("/api/ops/demo/closed")).body("{}").send().await.unwrap();
    assert_eq!(closed.text().await.unwrap(), "\"local\"");
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn a_call_whose_answer_is_a_stream_is_cancelled_in_time_too() {
    use redress_core::{Operation, Progress, contract};

    let watched = Arc::new(Watched::default());
    let seen = Arc::clone(&watched);
    let work = contract::OperationDeclaration::query("demo.work").with_access(contract::Access::anyone());
    let work = Operation::dynamic(work).with_handler(move |ctx, _| {
        let seen = Arc::clone(&seen);
        async move {
            let _dropped = Dropped(seen);
            ctx.progress(Progress::new(1.0));
            std::future::pending().await
        }
    });
    let registry = Registry::builder().add(work).build().unwrap();
    let host = Host::of(registry, watched, Duration::from_millis(20)).await;
    let client = reqwest::Client::new();
    // Who wants to hear of progress is answered with a stream, in which the call still runs.
    let params = json!({"name": "demo_work", "arguments": {}, "_meta": {"progressToken": "p"}});
    let call = client
        .post(host.url("/api/mcp"))
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-06-18")
        .body(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string());
    let mut answer = call.send().await.unwrap();
    let progress = answer.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&progress).contains("notifications/progress"), "{progress:?}");
    host.signal.cancel();
    timeout(SOON, host.watched.dropped.notified()).await.expect("the call ends");
    let rest = timeout(SOON, answer.text()).await.expect("the answer ends");
    assert!(rest.unwrap().contains("CANCELLED"));
    drop(client);
    timeout(SOON, host.server).await.expect("the server ends").unwrap().unwrap();
}
