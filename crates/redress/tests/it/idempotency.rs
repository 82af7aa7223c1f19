//! The same key and input give the same outcome, and run the handler once.

use std::{sync::Arc, time::Duration};

use redress::{
    Caller, DynamicFailure, IdempotencyMemory, Kind, Operation, Registry, Request,
    testing::{Answer, Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::service::{Count, built, failure, mutation};

/// A service whose `pay.send` counts how often it ran; `how` decides how it ends.
fn pay<F>(how: F) -> (Harness, Count)
where
    F: Fn(usize) -> Result<Value, &'static str> + Send + Sync + 'static,
{
    let count = Count::default();
    let counting = count.clone();
    let declaration = mutation("pay.send")
        .with_idempotency_key()
        .fails(failure("ACCOUNT_EMPTY", Kind::Conflict))
        .fails(failure("BANK_BUSY", Kind::Unavailable));
    let operation = Operation::dynamic(declaration).with_handler(move |_, _| {
        let ended = how(counting.up());
        async move { Ok(ended.map_err(|code| DynamicFailure::new(code, json!({"tried": 1})))?) }
    });
    (built(Registry::builder().add(operation)), count)
}

async fn send(harness: &Harness, key: &str, input: &Value) -> Answer {
    let request = Request::new(input.to_string().into_bytes()).with_idempotency_key(key);
    harness.send("pay.send", request).await
}

#[tokio::test]
async fn a_repeated_call_gets_the_first_outcome_and_does_not_run() {
    let (harness, count) = pay(|n| Ok(json!({"receipt": n})));
    let input = json!({"amount": 5});
    let (first, again) = (send(&harness, "k", &input).await, send(&harness, "k", &input).await);
    assert_eq!(first.output::<Value>(), again.output::<Value>());
    assert_ne!(first.envelope().meta().request_id, again.envelope().meta().request_id);
    assert_eq!(count.get(), 1);
    assert_ok!(harness.call("pay.send", input).await);
    assert_eq!(count.get(), 2);
}

#[tokio::test]
async fn a_declared_failure_that_time_does_not_heal_comes_again() {
    let (harness, count) = pay(|_| Err("ACCOUNT_EMPTY"));
    for _ in 0..2 {
        let answer = send(&harness, "k", &json!({})).await;
        assert_failure!(answer, ACCOUNT_EMPTY);
        assert_eq!(answer.details(), json!({"tried": 1}));
    }
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn a_failure_that_may_end_better_next_time_is_not_kept() {
    for code in ["BANK_BUSY", "NOT_DECLARED"] {
        let (harness, count) = pay(move |n| if n == 1 { Err(code) } else { Ok(json!(n)) });
        assert!(send(&harness, "k", &json!({})).await.code().is_some());
        assert_ok!(send(&harness, "k", &json!({})).await);
        assert_eq!(count.get(), 2, "{code}");
    }
}

#[tokio::test]
async fn the_same_key_with_another_input_is_a_conflict() {
    let (harness, count) = pay(|n| Ok(json!(n)));
    assert_ok!(send(&harness, "k", &json!({"amount": 1})).await);
    let problem = assert_failure!(send(&harness, "k", &json!({"amount": 2})).await, IDEMPOTENCY_CONFLICT);
    assert_eq!(problem.http, 409);
    assert_ok!(send(&harness, "other", &json!({"amount": 2})).await);
    assert_eq!(count.get(), 2);
}

#[tokio::test]
async fn a_key_is_the_callers_own() {
    let (harness, count) = pay(|n| Ok(json!(n)));
    let bob = harness.as_caller(Caller::new("bob"));
    assert_eq!(send(&harness, "k", &json!({"amount": 1})).await.output::<u64>(), 1);
    assert_eq!(send(&bob, "k", &json!({"amount": 2})).await.output::<u64>(), 2);
    assert_eq!(count.get(), 2);
}

#[tokio::test]
async fn a_key_on_an_operation_that_takes_none_changes_nothing() {
    let count = Count::default();
    let counting = count.clone();
    let operation =
        Operation::dynamic(mutation("pay.send")).with_handler(move |_, _| std::future::ready(Ok(json!(counting.up()))));
    let harness = built(Registry::builder().add(operation));
    for _ in 0..2 {
        assert_ok!(send(&harness, "k", &json!({})).await);
    }
    assert_eq!(count.get(), 2);
}

/// An operation that waits until it is let go, and counts how often it ran.
fn gated(count: &Count, started: &Arc<Notify>, go: &Arc<Notify>) -> Harness {
    let (count, started, go) = (count.clone(), Arc::clone(started), Arc::clone(go));
    let declaration = mutation("pay.send").with_idempotency_key();
    let operation = Operation::dynamic(declaration).with_handler(move |_, _| {
        let (n, started, go) = (count.up(), Arc::clone(&started), Arc::clone(&go));
        async move {
            started.notify_one();
            go.notified().await;
            Ok(json!(n))
        }
    });
    built(Registry::builder().add(operation))
}

#[tokio::test]
async fn concurrent_calls_with_one_key_run_the_handler_once() {
    let (count, started, go) = (Count::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = gated(&count, &started, &go);
    let input = json!({});
    let (a, b, c, ()) =
        tokio::join!(send(&harness, "k", &input), send(&harness, "k", &input), send(&harness, "k", &input), async {
            started.notified().await;
            tokio::task::yield_now().await;
            go.notify_one();
        });
    assert_eq!([a, b, c].map(|answer| answer.output::<u64>()), [1, 1, 1]);
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn a_call_that_its_caller_leaves_gives_its_key_up() {
    let (count, started, go) = (Count::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = gated(&count, &started, &go);
    let input = json!({});
    tokio::select! {
        biased;
        _ = send(&harness, "k", &input) => panic!("it does not end by itself"),
        () = started.notified() => {}
    }
    go.notify_one();
    assert_eq!(send(&harness, "k", &json!({})).await.output::<u64>(), 2);
}

#[tokio::test]
async fn a_panic_gives_its_key_up() {
    let (harness, count) = pay(|n| if n == 1 { panic!("broken") } else { Ok(json!(n)) });
    assert_failure!(send(&harness, "k", &json!({})).await, INTERNAL);
    assert_ok!(send(&harness, "k", &json!({})).await);
    assert_eq!(count.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn keys_are_bounded_in_time_and_number() {
    let count = Count::default();
    let counting = count.clone();
    let operation = Operation::dynamic(mutation("pay.send").with_idempotency_key())
        .with_handler(move |_, _| std::future::ready(Ok(json!(counting.up()))));
    let memory = IdempotencyMemory::new(Duration::from_secs(60), 2);
    let harness = built(Registry::builder().add(operation).idempotency(memory));
    assert_eq!(send(&harness, "a", &json!({})).await.output::<u64>(), 1);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(send(&harness, "a", &json!({})).await.output::<u64>(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(send(&harness, "a", &json!({})).await.output::<u64>(), 2);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(send(&harness, "b", &json!({})).await.output::<u64>(), 3);
    assert_eq!(send(&harness, "c", &json!({})).await.output::<u64>(), 4);
    // The oldest was forgotten, the newer one was not.
    assert_eq!(send(&harness, "b", &json!({})).await.output::<u64>(), 3);
    assert_eq!(send(&harness, "a", &json!({})).await.output::<u64>(), 5);
}
