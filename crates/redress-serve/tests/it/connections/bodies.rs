//! Bodies that are held before anybody knows whose they are.

use redress_core::{
    Operation, Registry,
    contract::{self, Access},
};
use redress_serve::{Faces, Server, ServerLimits};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpSocket, TcpStream},
};

use super::{GREET, Served, exchange, one_answer};

const PATHS: [&str; 4] = ["/ops/demo/greet", "/call", "/rpc", "/mcp"];

/// A server that has room for one large body of an address, and for two in all.
async fn narrow() -> Served {
    let (served, _) = Served::within(|limits| {
        (limits.body_bytes, limits.body_bytes_per_address) = (320 * 1024, 192 * 1024);
    })
    .await;
    served
}

/// Sends most of a body, and no more.
async fn begin(served: &Served, from: &str, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    let mut stream = socket.connect(served.tcp()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\ncontent-length: 120000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&[b' '; 110_000]).await.unwrap();
    stream
}

/// The answer to one of two bodies that have no room beside each other, and the other one.
async fn refused(mut one: TcpStream, mut other: TcpStream) -> (String, TcpStream) {
    tokio::select! {
        answer = one_answer(&mut one) => (answer, other),
        answer = one_answer(&mut other) => (answer, one),
    }
}

#[tokio::test]
async fn an_address_does_not_take_the_room_of_all_with_bodies_that_it_does_not_end() {
    let served = narrow().await;
    for path in PATHS {
        let (one, other) = (begin(&served, "127.0.0.1", path).await, begin(&served, "127.0.0.1", path).await);
        let (answer, mut held) = refused(one, other).await;
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1"), "{path} {answer}");
        let json: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        let envelope = if matches!(path, "/rpc" | "/mcp") { &json["error"]["data"] } else { &json };
        assert_eq!(
            (&envelope["code"], &envelope["details"]["limit"]),
            (&"OVERLOADED".into(), &"body_bytes".into()),
            "{path} {json}"
        );
        // Small messages need no room, and another address has its own.
        assert!(exchange(&mut served.connect().await, GREET).await.starts_with("HTTP/1.1 200"));
        let mut elsewhere = begin(&served, "127.0.0.2", path).await;
        for stream in [&mut held, &mut elsewhere] {
            stream.write_all(&[b' '; 10_000]).await.unwrap();
            assert!(!one_answer(stream).await.starts_with("HTTP/1.1 503"), "{path}");
        }
    }
    assert_eq!(served.handle.stats().refused_bodies, 4);
    served.end().await;
}

#[tokio::test]
async fn the_room_of_a_body_is_given_back_when_its_connection_breaks() {
    let served = narrow().await;
    for _ in 0..20 {
        drop(begin(&served, "127.0.0.1", "/call").await);
    }
    served.until(|stats| stats.connections == 0).await;
    let mut stream = begin(&served, "127.0.0.1", "/call").await;
    stream.write_all(&[b' '; 10_000]).await.unwrap();
    assert!(one_answer(&mut stream).await.contains("PARSE_ERROR"));
    served.end().await;
}

#[tokio::test]
async fn all_addresses_together_have_no_more_room_than_there_is() {
    let served = narrow().await;
    let mut held = Vec::new();
    for from in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
        held.push(begin(&served, from, "/call").await);
    }
    served.until(|stats| stats.refused_bodies == 1).await;
    drop(held);
    served.end().await;
}

#[tokio::test]
async fn an_operation_does_not_take_what_only_another_needs() {
    let named = |name: &str| {
        contract::OperationDeclaration::query(name).with_summary("Takes it.").with_access(Access::anyone())
    };
    let small = Operation::dynamic(named("demo.small")).with_handler(|_, _| async { Ok(json!(null)) });
    let large = Operation::dynamic(named("demo.large").with_max_input(1024 * 1024))
        .with_handler(|_, _| async { Ok(json!(null)) });
    let registry = Registry::builder().max_input(1024).add(small).add(large).build().unwrap();
    let mut limits = ServerLimits::default();
    limits.body_bytes = 0;
    let faces = Faces::new(registry).limits(limits);
    let served = Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await;
    let client = reqwest::Client::new();
    let post = async |path: &str, bytes: usize| {
        let body = format!("{{{}}}", " ".repeat(bytes));
        let answer = client.post(format!("http://{}{path}", served.tcp())).body(body).send().await.unwrap();
        let status = answer.status().as_u16();
        let json: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        (status, json["details"]["limit_bytes"].as_u64())
    };
    // One body always fits.
    assert_eq!(post("/ops/demo/large", 900 * 1024).await, (200, None));
    assert_eq!(post("/ops/demo/small", 2000).await, (413, Some(1024)));
    assert_eq!(post("/ops/demo/small", 70 * 1024).await, (413, Some(1024 + 64 * 1024)));
    assert_eq!(post("/ops/demo/unknown", 70 * 1024).await, (413, Some(1024 + 64 * 1024)));
    served.end().await;
}
