//! Clients that go away, and the service that does.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use redress_core::{
    Operation, Registry,
    contract::{self, Access},
};
use redress_serve::Faces;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::service::{Running, Watched, event};

const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let running = Running::start().await;
    for path in ["/ops/demo/wait", "/call", "/rpc"] {
        let body = match path {
            "/call" => r#"{"operation":"demo.wait"}"#,
            "/rpc" => r#"{"jsonrpc":"2.0","id":1,"method":"demo.wait"}"#,
            _ => "{}",
        };
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let request =
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        timeout(SOON, running.watched.started.notified()).await.expect("the call starts");
        drop(stream);
        timeout(SOON, running.watched.dropped.notified()).await.expect("the handler is dropped");
    }
}

#[tokio::test]
async fn a_service_that_stops_lets_running_calls_end() {
    let running = Running::start().await;
    let call = tokio::spawn(running.client.post(running.url("/ops/demo/wait")).body("{}").send());
    timeout(SOON, running.watched.started.notified()).await.unwrap();
    running.stop.cancel();
    running.watched.release.notify_one();
    let answer = call.await.unwrap().unwrap();
    assert_eq!(answer.text().await.unwrap(), "\"released\"");
    timeout(SOON, running.server).await.expect("the service ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_call_that_waits_behind_another_does_not_start_once_the_service_stops() {
    let running = Running::start().await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let request = |path: &str| format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{{}}");
    stream.write_all(request("/ops/demo/wait").as_bytes()).await.unwrap();
    timeout(SOON, running.watched.started.notified()).await.unwrap();
    running.stop.cancel();
    stream.write_all(request("/ops/demo/once").as_bytes()).await.unwrap();
    running.watched.release.notify_one();
    let mut answers = String::new();
    timeout(SOON, stream.read_to_string(&mut answers)).await.expect("the connection ends").unwrap();
    assert!(answers.starts_with("HTTP/1.1 200") && answers.ends_with("\"released\""), "{answers}");
    assert_eq!(running.watched.runs.load(Ordering::SeqCst), 0);
    timeout(SOON, running.server).await.expect("the service ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_call_that_does_not_end_in_time_is_cancelled_and_answered() {
    let running = Running::with(|faces| faces.grace(Duration::from_millis(20))).await;
    let call = tokio::spawn(running.client.post(running.url("/ops/demo/wait")).body("{}").send());
    timeout(SOON, running.watched.started.notified()).await.unwrap();
    running.stop.cancel();
    let answer = call.await.unwrap().unwrap();
    assert_eq!(answer.status().as_u16(), 499);
    timeout(SOON, running.server).await.expect("the service ends").unwrap().unwrap();
}

#[tokio::test]
async fn an_open_stream_gets_its_last_event_when_the_service_stops() {
    let running = Running::start().await;
    let request = running.client.post(running.url("/ops/demo/count")).body(r#"{"to":1,"then":"hang"}"#);
    let mut response = request.send().await.unwrap();
    let first = response.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"id: 1"), "{first:?}");
    running.stop.cancel();
    let rest = timeout(SOON, response.text()).await.expect("the stream ends").unwrap();
    let (name, _, data) = rest.split("\n\n").find_map(event).unwrap();
    assert_eq!((name.as_str(), &data["code"], &data["retry"]), ("error", &json!("OVERLOADED"), &json!("safe")));
    timeout(SOON, running.server).await.expect("the service ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_service_that_stops_waits_for_a_call_with_a_key_whose_client_has_gone() {
    let watched = Arc::new(Watched::default());
    let seen = Arc::clone(&watched);
    let declared = contract::OperationDeclaration::mutation("keyed.wait")
        .with_summary("Goes on without its caller.")
        .with_access(Access::anyone())
        .with_idempotency_key();
    let keyed = Operation::dynamic(declared).with_handler(move |_, _| {
        let seen = Arc::clone(&seen);
        async move {
            seen.started.notify_one();
            seen.release.notified().await;
            seen.runs.fetch_add(1, Ordering::SeqCst);
            Ok(json!("done"))
        }
    });
    let registry = Registry::builder().add(keyed).build().unwrap();
    let running = Running::of(Faces::new(registry), Default::default(), Arc::clone(&watched)).await;
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let request =
        "POST /ops/keyed/wait HTTP/1.1\r\nhost: localhost\r\nidempotency-key: k\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(request.as_bytes()).await.unwrap();
    timeout(SOON, watched.started.notified()).await.unwrap();
    drop(stream);
    running.stop.cancel();
    watched.release.notify_one();
    timeout(SOON, running.server).await.expect("the service ends").unwrap().unwrap();
    assert_eq!(watched.runs.load(Ordering::SeqCst), 1);
}
