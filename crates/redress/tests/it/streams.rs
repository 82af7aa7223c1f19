//! Subscriptions: order, backpressure, one explicit end.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use redress::{
    DynamicFailure, Event, Events, Operation, Outcome, Registry, Request, Subscription,
    contract::{Overflow, Streaming},
    testing::{Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::service::{Count, Dropped, Watch, built, ends, failure, query, soon, subscription};

type Item = Outcome<Value, DynamicFailure>;

/// A service with the subscription `feed.watch` that carries what `make` makes.
fn feed<S>(streaming: Streaming, make: impl Fn() -> S + Send + Sync + 'static) -> (Harness, Watch)
where
    S: Stream<Item = Item> + Send + 'static,
{
    let declaration = subscription("feed.watch")
        .with_streaming(streaming)
        .with_output(json!({"type": "integer"}))
        .fails(failure("FEED_BROKEN", redress::Kind::Unavailable));
    let operation = Operation::dynamic(declaration).with_stream_handler(move |_, _| {
        let events = Events::new(make());
        async move { Ok(events) }
    });
    let watch = Watch::default();
    (built(Registry::builder().add(operation).observer(watch.clone())), watch)
}

fn numbers(count: u64) -> impl Stream<Item = Item> {
    stream::iter((0..count).map(|n| Ok(json!(n))))
}

/// A source without end that counts what it has produced.
fn counted(count: &Count) -> impl Stream<Item = Item> + use<> {
    let count = count.clone();
    stream::repeat_with(move || Ok(json!(count.up())))
}

async fn open(harness: &Harness) -> Subscription {
    harness.open("feed.watch", Request::new(b"{}")).await.unwrap()
}

/// Lets every other task run until none has anything to do.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn items_come_in_order_and_then_one_good_end() {
    let (harness, watch) = feed(Streaming { buffer: 4, ..Streaming::default() }, || numbers(100));
    let collected = harness.subscribe("feed.watch", json!({})).await;
    assert_eq!(collected.items::<u64>(), (0..100).collect::<Vec<_>>());
    assert!(collected.is_completed());
    assert_eq!(collected.after_the_end(), 0);
    assert_eq!(watch.codes(), ["ok"]);
}

#[tokio::test]
async fn a_good_end_says_about_how_many_tokens_the_items_were() {
    for (count, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2), (100, 48)] {
        let (harness, _) = feed(Streaming::default(), move || numbers(count));
        let last = open(&harness).await.collect::<Vec<_>>().await.pop();
        let Some(Event::Completed(meta)) = last else { panic!("{last:?}") };
        assert_eq!(meta.estimated_tokens, tokens, "{count} items");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_holds_the_source_back() {
    let count = Count::default();
    let counting = count.clone();
    let (harness, _) = feed(Streaming { buffer: 8, ..Streaming::default() }, move || counted(&counting));
    let mut stream = open(&harness).await;
    settle().await;
    // The buffer, and the one item that waits for its place.
    assert!((8..=9).contains(&count.get()), "{}", count.get());
    for _ in 0..5 {
        assert!(matches!(stream.next().await, Some(Event::Item(_))));
    }
    settle().await;
    assert!((13..=14).contains(&count.get()), "{}", count.get());
}

async fn overflows(overflow: Overflow) {
    let (harness, watch) = feed(Streaming { buffer: 4, overflow, ..Streaming::default() }, || numbers(100));
    let mut stream = open(&harness).await;
    settle().await;
    if let Overflow::Wait(ms) = overflow {
        // It waits, and only then cuts.
        tokio::time::advance(Duration::from_millis(ms - 10)).await;
        settle().await;
        assert_eq!(watch.codes(), Vec::<String>::new());
        tokio::time::advance(Duration::from_millis(20)).await;
        settle().await;
    }
    for wanted in 0..4_u64 {
        let Some(Event::Item(item)) = stream.next().await else { panic!("item {wanted} was buffered") };
        assert_eq!(item.json(), wanted.to_string().as_bytes());
    }
    let Some(Event::Failed(envelope)) = stream.next().await else { panic!("the cut is explicit") };
    let problem = assert_failure!(envelope, STREAM_OVERFLOW);
    assert_eq!(problem.details.unwrap().get(), r#"{"buffer":4}"#);
    assert!(stream.next().await.is_none());
    assert_eq!(watch.codes(), ["STREAM_OVERFLOW"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_too_slow_is_cut_off_explicitly_after_what_was_buffered() {
    overflows(Overflow::Cut).await;
    overflows(Overflow::Wait(500)).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_source_times_out() {
    let streaming = Streaming { idle_ms: Some(1000), ..Streaming::default() };
    let (harness, watch) = feed(streaming, || numbers(2).chain(stream::pending()));
    let collected = soon(harness.subscribe("feed.watch", json!({}))).await;
    let problem = assert_failure!(collected, TIMEOUT);
    assert_eq!(problem.details.as_ref().map(|details| details.get()), Some(r#"{"idle_ms":1000}"#));
    assert_eq!(collected.items::<u64>(), [0, 1]);
    assert_eq!(watch.codes(), ["TIMEOUT"]);
}

#[tokio::test]
async fn a_failure_in_the_middle_is_the_last_event_and_the_source_goes_before_it() {
    // Terminal, and nothing completed after it.
    let dropped = Dropped::default();
    let guards = dropped.clone();
    let (harness, watch) = feed(Streaming::default(), move || {
        let guard = guards.guard();
        let broken = stream::iter([Err(DynamicFailure::new("FEED_BROKEN", json!({})).into())]);
        numbers(2).chain(broken).chain(numbers(5)).map(move |item| {
            let _ = &guard;
            item
        })
    });
    let mut stream = open(&harness).await;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        if let Event::Failed(_) = &event {
            assert!(dropped.is());
        }
        events.push(event);
    }
    assert_eq!(events.len(), 3);
    let Some(Event::Failed(envelope)) = events.pop() else { panic!("the last event is the failure") };
    assert_failure!(envelope, FEED_BROKEN);
    assert_eq!(watch.codes(), ["FEED_BROKEN"]);
}

#[tokio::test]
async fn an_item_is_mapped_like_the_outcome_of_a_call() {
    type Make = fn() -> Item;
    let cases: [(Make, &str); 4] = [
        (|| Err(DynamicFailure::new("NOT_DECLARED", json!({"secret": "hunter2"})))?, "INTERNAL"),
        (|| Err(std::io::Error::other("hunter2"))?, "INTERNAL"),
        (|| Ok(json!("hunter2")), "INVALID_OUTPUT"),
        (|| panic!("hunter2"), "INTERNAL"),
    ];
    for (place, (item, code)) in cases.into_iter().enumerate() {
        let (harness, watch) =
            feed(Streaming::default(), move || numbers(1).chain(stream::repeat_with(item).take(1)).chain(numbers(1)));
        let collected = harness.subscribe("feed.watch", json!({})).await;
        assert_eq!(collected.failed().and_then(redress::Envelope::code), Some(code), "{place}");
        assert_eq!((collected.items::<u64>(), collected.after_the_end()), (vec![0], 0), "{place}");
        assert!(!String::from_utf8_lossy(&collected.bytes()).contains("hunter2"), "{place}");
        assert_eq!(watch.codes(), [code], "{place}");
    }
}

#[tokio::test]
async fn a_reader_that_goes_drops_the_source_and_frees_its_place() {
    let dropped = Dropped::default();
    let guards = dropped.clone();
    let (harness, watch) = feed(Streaming::default(), move || {
        let guard = guards.guard();
        stream::pending().map(move |item: Item| {
            let _ = &guard;
            item
        })
    });
    let stream = open(&harness).await;
    settle().await;
    assert!(!dropped.is());
    drop(stream);
    settle().await;
    assert!(dropped.is());
    assert_eq!(watch.codes(), ["CANCELLED"]);
}

#[tokio::test]
async fn a_faces_token_ends_a_stream_with_cancelled() {
    let (harness, _) = feed(Streaming::default(), || numbers(1).chain(stream::pending()));
    let token = CancellationToken::new();
    let request = Request::new(b"{}").with_cancellation(token.clone());
    let mut stream = harness.open("feed.watch", request).await.unwrap();
    assert!(matches!(stream.next().await, Some(Event::Item(_))));
    token.cancel();
    let Some(Event::Failed(envelope)) = stream.next().await else { panic!("it ends badly") };
    assert_failure!(envelope, CANCELLED);
}

#[tokio::test]
async fn a_failure_before_the_stream_is_open_is_an_envelope() {
    let declaration = subscription("feed.watch").fails(failure("FEED_BROKEN", redress::Kind::Unavailable));
    let operation = Operation::dynamic(declaration)
        .with_stream_handler(|_, _| async { Err(DynamicFailure::new("FEED_BROKEN", json!({})))? });
    let watch = Watch::default();
    let harness = built(Registry::builder().add(operation).observer(watch.clone()));
    let refused = harness.open("feed.watch", Request::new(b"{}")).await.unwrap_err();
    assert_failure!(refused, FEED_BROKEN);
    assert_eq!(watch.codes(), ["FEED_BROKEN"]);
}

#[tokio::test]
async fn a_subscription_is_not_called_and_a_query_not_subscribed_to() {
    let (harness, _) = feed(Streaming::default(), || numbers(1));
    let answer = harness.call("feed.watch", json!({})).await;
    assert_failure!(answer, INVALID_OPERATION_TYPE);
    assert_eq!(answer.details(), json!({"operation": "feed.watch", "shape": "subscription"}));
    let query = built(Registry::builder().add(ends(query("files.read"), || Ok(json!(1)))));
    let problem = assert_failure!(query.subscribe("files.read", json!({})).await, INVALID_OPERATION_TYPE);
    assert_eq!(problem.http, 405);
    assert_ok!(query.call("files.read", json!({})).await);
}

/// What a reader gets of a stream that is stopped once nothing moves any more: how many items, and how it ends.
async fn stopped<S>(make: impl Fn() -> S + Send + Sync + 'static) -> (usize, Vec<String>, Vec<String>)
where
    S: Stream<Item = Item> + Send + 'static,
{
    let (harness, watch) = feed(Streaming { buffer: 8, ..Streaming::default() }, make);
    let stream = open(&harness).await;
    settle().await;
    stream.stop();
    let (mut items, mut ends) = (0, Vec::new());
    for event in stream.collect::<Vec<Event>>().await {
        match event {
            Event::Item(_) => items += 1,
            Event::Completed(_) => ends.push("ok".to_owned()),
            Event::Failed(envelope) => ends.push(envelope.code().unwrap_or_default().to_owned()),
        }
    }
    (items, ends, watch.codes())
}

#[tokio::test]
async fn a_stream_that_is_stopped_gives_what_it_had_and_ends_as_its_records_say() {
    let (items, ends, recorded) = stopped(|| numbers(5)).await;
    assert_eq!((items, ends), (5, recorded), "it had ended by itself, and its reader was behind");
    let (items, ends, recorded) = stopped(|| counted(&Count::default())).await;
    assert_eq!((items, ends.as_slice()), (8, ["CANCELLED".to_owned()].as_slice()));
    assert_eq!(ends, recorded);
}

/// A service whose stream asks `feed.price` again and again, with some time before each.
fn asking(price: Operation, before_each: Duration) -> Harness {
    let watch = subscription("feed.watch").with_deadline(Duration::from_secs(1)).with_call("feed.price");
    let watch = Operation::dynamic(watch).with_stream_handler(move |ctx, _| async move {
        let items = stream::unfold(ctx.clone(), move |ctx| async move {
            tokio::time::sleep(before_each).await;
            let price = ctx.call_dynamic("feed.price", json!({})).await.map_err(redress::Fail::from);
            Some((price, ctx))
        });
        Ok(Events::new(items))
    });
    built(Registry::builder().add(watch).add(price))
}

#[tokio::test(start_paused = true)]
async fn a_stream_older_than_the_deadline_of_its_opening_still_calls_others() {
    // A deadline is for opening a stream, unless the caller gave one.
    let price = ends(query("feed.price"), || Ok(json!(7)));
    let harness = asking(price, Duration::from_secs(40));
    let prices: Vec<Event> = open(&harness).await.take(3).collect().await;
    assert!(prices.iter().all(|event| matches!(event, Event::Item(output) if output.json() == b"7")), "{prices:?}");
}

#[tokio::test(start_paused = true)]
async fn each_call_inside_a_stream_has_a_deadline_of_its_own() {
    let price = query("feed.price").with_deadline(Duration::from_secs(2));
    let harness =
        asking(Operation::dynamic(price).with_handler(|_, _| std::future::pending()), Duration::from_secs(40));
    let since = tokio::time::Instant::now();
    let mut stream = open(&harness).await;
    let last = tokio::time::timeout(Duration::from_secs(600), stream.next()).await.expect("the call ends");
    let Some(Event::Failed(envelope)) = last else { panic!("{last:?}") };
    assert_eq!(envelope.code(), Some("TIMEOUT"));
    assert_eq!(since.elapsed().as_secs(), 42);
}

/// The end of a stream of `make` that its caller wants within three seconds.
async fn within_three_seconds<S>(streaming: Streaming, make: impl Fn() -> S + Send + Sync + 'static) -> Event
where
    S: Stream<Item = Item> + Send + 'static,
{
    let (harness, _) = feed(streaming, make);
    let request = Request::new(b"{}").with_deadline(Duration::from_secs(3));
    let mut reading = harness.open("feed.watch", request).await.unwrap();
    // Nobody reads until it is over.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let mut last = None;
    while let Some(event) = tokio::time::timeout(Duration::from_secs(600), reading.next()).await.expect("it ends") {
        last = Some(event);
    }
    last.expect("there is an end")
}

#[tokio::test(start_paused = true)]
async fn the_deadline_that_a_caller_gives_is_for_the_whole_stream() {
    let silent = within_three_seconds(Streaming::default(), stream::pending).await;
    let full = Streaming { buffer: 1, overflow: Overflow::Wait(60_000), ..Streaming::default() };
    let held_back = within_three_seconds(full, || numbers(1000)).await;
    for event in [silent, held_back] {
        let Event::Failed(envelope) = event else { panic!("{event:?}") };
        let problem = envelope.problem().unwrap();
        assert_eq!(problem.code.as_str(), "TIMEOUT");
        assert_eq!(problem.details.as_ref().map(|details| details.get()), Some(r#"{"deadline_ms":3000}"#));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_told_its_callers_deadline_and_no_other() {
    for given in [None, Some(Duration::from_secs(90))] {
        let watch = subscription("feed.watch").with_deadline(Duration::from_secs(1));
        let watch = Operation::dynamic(watch).with_stream_handler(move |ctx, _| {
            let told = ctx.deadline().map(|deadline| deadline - tokio::time::Instant::now().into_std());
            async move { Ok(Events::new(stream::iter([Ok(json!(told.map(|told| told.as_secs())))]))) }
        });
        let request = Request::new(b"{}");
        let request = match given {
            Some(given) => request.with_deadline(given),
            None => request,
        };
        let mut reading = built(Registry::builder().add(watch)).open("feed.watch", request).await.unwrap();
        let first = reading.next().await;
        let Some(Event::Item(told)) = first else { panic!("{first:?}") };
        assert_eq!(told.json(), json!(given.map(|given| given.as_secs())).to_string().as_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_does_not_open_within_its_deadline_times_out() {
    let watch = subscription("feed.watch").with_deadline(Duration::from_secs(1));
    let watch = Operation::dynamic(watch)
        .with_stream_handler(|_, _| std::future::pending::<Outcome<Events<Value, DynamicFailure>, DynamicFailure>>());
    let harness = built(Registry::builder().add(watch));
    let opening = harness.open("feed.watch", Request::new(b"{}"));
    let opening = tokio::time::timeout(Duration::from_secs(60), opening).await.expect("nobody waits for it for ever");
    assert_eq!(opening.unwrap_err().code(), Some("TIMEOUT"));
}
