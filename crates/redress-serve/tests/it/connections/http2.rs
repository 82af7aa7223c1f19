//! HTTP/2 without TLS, as a client that knows of it begins it.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::{SOON, Served};

fn client() -> reqwest::Client {
    reqwest::Client::builder().http2_prior_knowledge().build().unwrap()
}

#[tokio::test]
async fn many_calls_run_side_by_side_on_one_connection() {
    let (served, watched) = Served::within(|_| {}).await;
    let (client, url) = (client(), format!("http://{}", served.tcp()));
    let waits = tokio::spawn(client.post(format!("{url}/ops/demo/wait")).body("{}").send());
    timeout(SOON, watched.started.notified()).await.unwrap();
    let greets = (0..50).map(|_| client.post(format!("{url}/ops/demo/greet")).body(r#"{"name":"Ada"}"#).send());
    for answer in join_all(greets).await {
        let answer = answer.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_2));
    }
    watched.release.notify_one();
    assert_eq!(waits.await.unwrap().unwrap().text().await.unwrap(), "\"released\"");
    assert_eq!(served.handle.stats().accepted, 1);
    served.end().await;
}

#[tokio::test]
async fn a_service_that_stops_lets_calls_on_http2_end_and_takes_no_more() {
    let (served, watched) = Served::within(|_| {}).await;
    let (client, url) = (client(), format!("http://{}", served.tcp()));
    let waits = tokio::spawn(client.post(format!("{url}/ops/demo/wait")).body("{}").send());
    timeout(SOON, watched.started.notified()).await.unwrap();
    served.stop.cancel();
    watched.release.notify_one();
    assert_eq!(waits.await.unwrap().unwrap().text().await.unwrap(), "\"released\"");
    assert!(client.post(format!("{url}/ops/demo/greet")).body("{}").send().await.is_err());
    served.end().await;
}

#[tokio::test]
async fn a_page_is_not_local_by_the_name_that_it_uses_in_http2() {
    let (served, _) = Served::within(|_| {}).await;
    let told = |host: &'static str| {
        let address = served.tcp();
        let client = reqwest::Client::builder().http2_prior_knowledge().resolve(host, address).build().unwrap();
        let url = format!("http://{host}:{}/ops/demo/closed", address.port());
        async move { client.post(url).body("{}").send().await.unwrap().status().as_u16() }
    };
    assert_eq!((told("localhost").await, told("evil.example").await), (200, 401));
    served.end().await;
}

#[tokio::test]
async fn headers_beyond_what_is_taken_are_431() {
    let (served, _) = Served::within(|limits| limits.header_bytes = 8192).await;
    let (client, url) = (client(), format!("http://{}/healthz", served.tcp()));
    let ask = async |bytes| client.get(&url).header("x-large", "x".repeat(bytes)).send().await.unwrap().status();
    assert_eq!(ask(7_000).await, 200);
    assert_eq!(ask(9_000).await, 431);
    assert_eq!(ask(10).await, 200);
    drop(client);
    served.end().await;
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let (served, _) = Served::within(|limits| limits.idle_time = Duration::from_millis(50)).await;
    let (client, url) = (client(), format!("http://{}/healthz", served.tcp()));
    assert_eq!(client.get(&url).send().await.unwrap().status(), 200);
    served.until(|stats| stats.connections == 0 && stats.idle > 0).await;
    served.end().await;
}
