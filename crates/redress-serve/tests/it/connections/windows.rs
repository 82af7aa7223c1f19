//! Clients of HTTP/2 that say themselves how much they take, and when.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use h2::{RecvStream, client};
use redress_core::{
    Operation, Registry,
    contract::{self, Access},
};
use redress_serve::{Faces, Server, ServerLimits};
use serde_json::json;
use tokio::{io::AsyncReadExt as _, task::JoinHandle, time::timeout};

use super::{SOON, Served, last_words};

const SHORT: Duration = Duration::from_millis(40);

/// A client, and how its connection ends.
pub(super) struct Client {
    send: client::SendRequest<Bytes>,
    pub(super) end: JoinHandle<Result<(), h2::Error>>,
}

impl Client {
    /// A client whose answers have windows of this size.
    pub(super) async fn of(served: &Served, window: u32) -> Client {
        let mut builder = client::Builder::new();
        builder.initial_window_size(window);
        let (send, connection) = builder.handshake(served.connect().await).await.unwrap();
        Client { send, end: tokio::spawn(connection) }
    }

    /// Asks, and gives what is sent back as it comes.
    pub(super) async fn ask(&mut self, path: &str) -> Result<RecvStream, h2::Error> {
        let answer = self.begin(path, "{}").await?.await?;
        assert_eq!(answer.status(), 200);
        Ok(answer.into_body())
    }

    pub(super) async fn begin(&mut self, path: &str, body: &'static str) -> Result<client::ResponseFuture, h2::Error> {
        let uri = format!("http://localhost{path}");
        let request = axum::http::Request::post(uri).header("content-type", "application/json").body(()).unwrap();
        std::future::poll_fn(|cx| self.send.poll_ready(cx)).await?;
        let (answer, mut sent) = self.send.send_request(request, false)?;
        sent.send_data(Bytes::from_static(body.as_bytes()), true)?;
        Ok(answer)
    }
}

/// Reads an answer to its end, and lets the server go on after each piece of it.
async fn read(mut body: RecvStream, mut between: impl AsyncFnMut()) -> Result<usize, h2::Error> {
    let mut length = 0;
    while let Some(data) = body.data().await {
        let data = data?;
        length += data.len();
        between().await;
        body.flow_control().release_capacity(data.len())?;
    }
    Ok(length)
}

const LARGE: usize = 300_000;

/// A server of large answers, within these limits.
async fn large(change: impl FnOnce(&mut ServerLimits)) -> Served {
    let declared =
        |name: &str| contract::OperationDeclaration::query(name).with_summary("Text.").with_access(Access::anyone());
    let large =
        Operation::dynamic(declared("demo.large")).with_handler(|_, _| async { Ok(json!("x".repeat(LARGE - 2))) });
    let small = Operation::dynamic(declared("demo.small")).with_handler(|_, _| async { Ok(json!("x")) });
    let mut limits = ServerLimits::default();
    change(&mut limits);
    let faces = Faces::new(Registry::builder().add(large).add(small).build().unwrap()).limits(limits);
    Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(SOON, what).await.expect("it happens soon")
}

#[tokio::test]
async fn a_reader_that_opens_no_window_is_hung_up_on_though_it_goes_on_asking() {
    for window in [0, 1] {
        let served = large(|limits| limits.write_time = SHORT).await;
        let mut client = Client::of(&served, window).await;
        let mut kept = Vec::new();
        // Small requests beside large answers are answered, and excuse nothing.
        soon(async {
            while let Ok(answer) = client.ask(if kept.len() < 20 { "/ops/demo/large" } else { "/ops/demo/small" }).await
            {
                kept.push(answer);
                kept.truncate(100);
            }
        })
        .await;
        assert!(!kept.is_empty());
        served.until(|stats| (stats.slow_readers, stats.connections) == (1, 0)).await;
        served.end().await;
    }
}

#[tokio::test]
async fn a_slow_reader_that_goes_on_is_neither_slow_nor_idle() {
    let served = large(|limits| limits.idle_time = SHORT).await;
    let mut client = Client::of(&served, 64 * 1024).await;
    let body = client.ask("/ops/demo/large").await.unwrap();
    // The whole takes many times as long as a connection may be idle, which one beside it shows.
    let between = async || {
        let mut idle = served.connect().await;
        assert_eq!(last_words(&mut idle, "").await, "");
    };
    assert_eq!(read(body, between).await.unwrap(), LARGE);
    assert_eq!(served.handle.stats().slow_readers, 0);
    served.end().await;
}

#[tokio::test]
async fn an_idle_connection_is_told_to_go_before_it_is_closed() {
    let (served, _) = Served::within(|limits| limits.idle_time = SHORT).await;
    let client = Client::of(&served, 65_535).await;
    // A connection that is merely cut off ends with an error, or without a word.
    let mut raw = served.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut raw, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let mut seen = Vec::new();
    soon(async {
        let goaway = |seen: &[u8]| frames(seen).any(|(kind, _)| kind == 7);
        while !goaway(&seen) {
            assert!(raw.read_buf(&mut seen).await.unwrap() > 0, "closed without a word");
        }
    })
    .await;
    soon(client.end).await.unwrap().unwrap();
    assert_eq!(served.handle.stats().idle, 2);
    drop(raw);
    served.end().await;
}

/// The kinds and the bodies of the frames so far.
fn frames(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(9)?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let (body, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some((head[3], body))
    })
}

#[tokio::test]
async fn a_client_of_http2_without_tls_may_wait_before_it_asks() {
    let (served, _) = Served::within(|limits| limits.header_time = SHORT).await;
    let mut client = Client::of(&served, 65_535).await;
    // Connections that begin a request and do not go on show that more than the time has passed.
    for _ in 0..3 {
        assert_eq!(last_words(&mut served.connect().await, "GET /healthz").await, "");
    }
    let answer = client.begin("/ops/demo/greet", r#"{"name":"Ada"}"#).await.unwrap().await.unwrap();
    assert_eq!(answer.status(), 200);
    // Half a preface is a request that does not go on.
    assert_eq!(last_words(&mut served.connect().await, "PRI * HTTP/2.0\r\n").await, "");
    served.end().await;
}

#[tokio::test]
async fn a_client_that_resets_what_it_asks_faster_than_it_is_looked_at_is_told_to_calm_down() {
    let (served, _) = Served::within(|_| {}).await;
    let mut raw = served.connect().await;
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    for stream in (1..2000_u32).step_by(2) {
        // GET http:/ as indexed headers, and that nobody wants the answer.
        sent.extend_from_slice(&[0, 0, 3, 1, 5]);
        sent.extend_from_slice(&stream.to_be_bytes());
        sent.extend_from_slice(&[0x82, 0x86, 0x84]);
        sent.extend_from_slice(&[0, 0, 4, 3, 0]);
        sent.extend_from_slice(&stream.to_be_bytes());
        sent.extend_from_slice(&8_u32.to_be_bytes());
    }
    let _ = tokio::io::AsyncWriteExt::write_all(&mut raw, &sent).await;
    let mut seen = Vec::new();
    soon(async { while raw.read_buf(&mut seen).await.is_ok_and(|read| read > 0) {} }).await;
    let calm = frames(&seen).find(|(kind, _)| *kind == 7).map(|(_, body)| body[4..8].to_vec());
    assert_eq!(calm, Some(11_u32.to_be_bytes().to_vec()));
    let mut other = Client::of(&served, 65_535).await;
    assert!(other.begin("/ops/demo/greet", r#"{"name":"Ada"}"#).await.unwrap().await.is_ok());
    drop(other);
    served.end().await;
}
