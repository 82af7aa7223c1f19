//! Faces that are replaced while they serve.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use redress_core::{
    Operation, Registry,
    contract::{self, Access, Caller},
};
use redress_serve::{CallerOf, Connection, Faces, Server};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use super::{SOON, Served, exchange, one_answer};
use crate::service::Watched;

/// A registry of this age, whose calls can be held up.
fn aged(age: u32, watched: &Arc<Watched>) -> Registry {
    let declare =
        |operation: contract::OperationDeclaration| operation.with_summary("Its age.").with_access(Access::anyone());
    let quick = Operation::dynamic(declare(contract::OperationDeclaration::query("age.quick")))
        .with_handler(move |_, _| async move { Ok(json!(age)) });
    let seen = Arc::clone(watched);
    let slow =
        Operation::dynamic(declare(contract::OperationDeclaration::query("age.slow"))).with_handler(move |_, _| {
            let seen = Arc::clone(&seen);
            async move {
                seen.started.notify_one();
                seen.release.notified().await;
                Ok(json!(age))
            }
        });
    Registry::builder().add(quick).add(slow).build().unwrap()
}

fn post(name: &str) -> String {
    format!("POST /ops/age/{name} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{{}}")
}

#[tokio::test]
async fn what_has_begun_goes_on_as_it_began_and_the_next_is_new() {
    let watched = Arc::new(Watched::default());
    let served = Served::of(Server::new(Faces::new(aged(1, &watched))).listen("127.0.0.1:0".parse().unwrap())).await;
    let (mut running, mut kept) = (served.connect().await, served.connect().await);
    let (mut socket, _) = connect_async(format!("ws://{}/ws", served.tcp())).await.unwrap();
    let mut over_socket = async |name: &str| {
        let message = json!({"type": "call.requested", "id": name, "payload": {"operation": name}});
        socket.send(Message::text(message.to_string())).await.unwrap();
        let answer = timeout(SOON, socket.next()).await.unwrap().unwrap().unwrap();
        let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
        answer["payload"]["output"].clone()
    };
    assert!(exchange(&mut kept, &post("quick")).await.ends_with("\r\n1"));
    assert_eq!(over_socket("age.quick").await, json!(1));
    tokio::io::AsyncWriteExt::write_all(&mut running, post("slow").as_bytes()).await.unwrap();
    timeout(SOON, watched.started.notified()).await.unwrap();

    served.handle.replace(Faces::new(aged(2, &watched)));

    assert!(exchange(&mut kept, &post("quick")).await.ends_with("\r\n2"));
    assert_eq!(over_socket("age.quick").await, json!(2));
    watched.release.notify_one();
    assert!(one_answer(&mut running).await.ends_with("\r\n1"));
    assert!(exchange(&mut running, &post("quick")).await.ends_with("\r\n2"));
    assert_eq!(served.handle.stats().accepted, 3);
    drop(socket);
    served.end().await;
}

/// A message of MCP, in this session.
fn message(session: Option<&str>, id: u32, method: &str, params: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
    let session = session.map(|name| format!("mcp-session-id: {name}\r\n")).unwrap_or_default();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n{session}content-type: \
         application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_session_of_mcp_and_what_runs_in_it_go_on() {
    let watched = Arc::new(Watched::default());
    let served = Served::of(Server::new(Faces::new(aged(1, &watched))).listen("127.0.0.1:0".parse().unwrap())).await;
    let (mut running, mut next) = (served.connect().await, served.connect().await);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "a", "version": "1"}});
    let begun = exchange(&mut next, &message(None, 0, "initialize", &hello)).await;
    let session = begun.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect(&begun).to_owned();
    let call = |id, name: &str| message(Some(&session), id, "tools/call", &json!({"name": name, "arguments": {}}));
    tokio::io::AsyncWriteExt::write_all(&mut running, call(1, "age_slow").as_bytes()).await.unwrap();
    timeout(SOON, watched.started.notified()).await.unwrap();

    served.handle.replace(Faces::new(aged(2, &watched)));

    let renewed = exchange(&mut next, &call(2, "age_quick")).await;
    assert!(renewed.starts_with("HTTP/1.1 200") && renewed.contains("\"text\":\"2\""), "{renewed}");
    watched.release.notify_one();
    let ended = one_answer(&mut running).await;
    assert!(ended.starts_with("HTTP/1.1 200") && ended.contains("\"text\":\"1\""), "{ended}");
    served.end().await;
}

/// Whoever is named in the handshake, for as long as this rule holds.
struct Named(&'static str);

impl CallerOf for Named {
    fn caller_of(&self, connection: Connection<'_>) -> Option<Arc<Caller>> {
        let name = connection.headers.get(self.0)?.to_str().ok()?;
        Some(Arc::new(Caller::new(name)))
    }
}

#[tokio::test]
async fn an_open_connection_is_known_by_the_rules_that_hold_at_each_call() {
    let who =
        contract::OperationDeclaration::query("who.am_i").with_summary("Who calls.").with_access(Access::caller());
    let who = Operation::dynamic(who).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let registry = Registry::builder().add(who).build().unwrap();
    let faces = |header| Faces::new(registry.clone()).caller(Named(header));
    let served = Served::of(Server::new(faces("x-one")).listen("127.0.0.1:0".parse().unwrap())).await;
    let mut request = format!("ws://{}/ws", served.tcp()).into_client_request().unwrap();
    request.headers_mut().insert("x-one", "ada".parse().unwrap());
    request.headers_mut().insert("x-two", "bob".parse().unwrap());
    let (mut socket, _) = connect_async(request).await.unwrap();
    let mut told = async || {
        let message = json!({"type": "call.requested", "id": "a", "payload": {"operation": "who.am_i"}});
        socket.send(Message::text(message.to_string())).await.unwrap();
        let answer = timeout(SOON, socket.next()).await.unwrap().unwrap().unwrap();
        let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
        let payload = &answer["payload"];
        payload.get("output").or(payload.get("code")).cloned().unwrap_or_default()
    };
    assert_eq!(told().await, "ada");
    served.handle.replace(faces("x-two"));
    assert_eq!(told().await, "bob");
    served.handle.replace(faces("x-three"));
    assert_eq!(told().await, "AUTH_REQUIRED");
    drop(socket);
    served.end().await;
}

#[tokio::test]
async fn replacing_under_load_loses_no_call_and_never_goes_back() {
    let watched = Arc::new(Watched::default());
    let served = Served::of(Server::new(Faces::new(aged(0, &watched))).listen("127.0.0.1:0".parse().unwrap())).await;
    let load = (0..8).map(|_| {
        let address = served.tcp();
        tokio::spawn(async move {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let mut last: u32 = 0;
            while last < 50 {
                let answer = exchange(&mut stream, &post("quick")).await;
                let age: u32 = answer.rsplit("\r\n").next().unwrap().parse().unwrap();
                assert!(answer.starts_with("HTTP/1.1 200") && age >= last, "{answer}");
                last = age;
            }
        })
    });
    let load: Vec<_> = load.collect();
    for age in 1..=50 {
        served.handle.replace(Faces::new(aged(age, &watched)));
        tokio::task::yield_now().await;
    }
    for client in load {
        timeout(SOON, client).await.expect("the clients end").unwrap();
    }
    served.end().await;
}

#[tokio::test]
async fn a_service_that_stops_under_load_answers_every_request_that_it_took() {
    let watched = Arc::new(Watched::default());
    let served = Served::of(Server::new(Faces::new(aged(1, &watched))).listen("127.0.0.1:0".parse().unwrap())).await;
    let load: Vec<_> = (0..16)
        .map(|_| {
            let address = served.tcp();
            tokio::spawn(async move {
                let mut answered = 0_u32;
                // Each on a connection of its own: whoever could connect gets an answer.
                while let Ok(mut stream) = tokio::net::TcpStream::connect(address).await {
                    let answer = exchange(&mut stream, &post("quick")).await;
                    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 503"), "{answer:?}");
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    served.until(|stats| stats.accepted > 200).await;
    served.end().await;
    for client in load {
        assert!(timeout(SOON, client).await.expect("the clients end").unwrap() > 0);
    }
}
