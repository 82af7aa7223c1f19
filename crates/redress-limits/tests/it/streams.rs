//! Streams, which last.

use std::time::Duration;

use futures_util::StreamExt as _;
use redress_core::{Request, Subscription};
use redress_limits::LimitRule;

use crate::service::{Service, options};

async fn open(service: &Service, id: &str) -> Result<Subscription, String> {
    let opened = service.of(id).open("demo.watch", Request::default()).await;
    opened.map_err(|envelope| envelope.problem().unwrap().details.as_ref().unwrap().get().to_owned())
}

/// Drops the reader and waits until the source has noticed.
async fn close(service: &Service, stream: Subscription) {
    let streams = service.limits.figures().streams;
    drop(stream);
    while service.limits.figures().streams == streams {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_caller_reads_so_many_streams_and_may_open_another_when_one_has_ended() {
    let service = Service::new(options(|options| options.streams = Some(2)));
    let first = open(&service, "ada").await.unwrap();
    let second = open(&service, "ada").await.unwrap();
    let refused = open(&service, "ada").await.unwrap_err();
    assert_eq!(refused, r#"{"limit":"streams","per":"caller"}"#);
    let other = open(&service, "ben").await.unwrap();
    assert_eq!(service.limits.figures().streams, 3);

    close(&service, first).await;
    let third = open(&service, "ada").await.unwrap();
    for stream in [second, third, other] {
        close(&service, stream).await;
    }
    assert_eq!(service.limits.figures().streams, 0);
}

#[tokio::test]
async fn a_stream_takes_no_place_from_calls() {
    let service = Service::new(options(|options| {
        options.in_flight = Some(1);
        options.in_flight_total = Some(1);
        options.streams = Some(1);
    }));
    let stream = open(&service, "ada").await.unwrap();
    assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    close(&service, stream).await;
}

#[tokio::test]
async fn a_stream_that_is_refused_for_its_rate_leaves_its_place() {
    let mut rule = LimitRule::new(["demo.watch"]);
    rule.streams = Some(1);
    rule.rate = Some("1/h".parse().unwrap());
    let service = Service::new(options(|options| options.rules.push(rule)));
    let stream = open(&service, "ada").await.unwrap();
    close(&service, stream).await;
    assert_eq!(open(&service, "ada").await.unwrap_err(), r#"{"limit":"rate","per":"caller"}"#);
    assert_eq!(service.limits.figures().streams, 0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_stream_is_no_end_of_another() {
    let service = Service::new(options(|options| options.streams = Some(1)));
    let mut stream = open(&service, "ada").await.unwrap();
    let refused = service.of("ada").open("demo.watch", Request::default()).await.unwrap_err();
    assert_eq!(refused.code(), Some("RATE_LIMITED"));
    assert_eq!(refused.problem().unwrap().retry_after_ms, Some(1000));
    let next = tokio::time::timeout(Duration::from_millis(1), stream.next()).await;
    assert!(next.is_err(), "the stream that was open before goes on");
}
