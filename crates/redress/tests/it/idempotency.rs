//! The same key and input give the same outcome, and run the handler once.

use std::{pin::Pin, sync::Arc, time::Duration};

use redress::{
    Access, Begin, Caller, Conversation, DynamicFailure, Effect, Events, Fingerprint, IdempotencyKey,
    IdempotencyMemory, IdempotencyStore, Kind, Layers, Limit, Limited, LimitedCall, Operation, Permit, QuestionKind,
    Registry, Request, Retry, Settled, StoreError, Turn,
    testing::{CallAnswer, Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::service::{Count, built, failure, mutation, query, registry, soon, subscription};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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
        .fails(failure("BANK_BUSY", Kind::Unavailable).with_effect(Effect::None))
        .fails(failure("BANK_SILENT", Kind::Unavailable).with_effect(Effect::Unknown));
    let operation = Operation::dynamic(declaration).with_handler(move |_, _| {
        let ended = how(counting.up());
        async move { Ok(ended.map_err(|code| DynamicFailure::new(code, json!({"tried": 1})))?) }
    });
    (built(Registry::builder().add(operation)), count)
}

async fn send(harness: &Harness, key: &str, input: &Value) -> CallAnswer {
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
async fn a_declared_failure_that_changed_nothing_and_may_end_better_frees_its_key() {
    let (harness, count) = pay(|n| if n == 1 { Err("BANK_BUSY") } else { Ok(json!(n)) });
    assert_failure!(send(&harness, "k", &json!({})).await, BANK_BUSY);
    assert_eq!(send(&harness, "k", &json!({})).await.output::<u64>(), 2);
    assert_eq!(count.get(), 2);
}

/// Asserts that a key works no more: the handler does not run again, and the caller is told to look.
async fn assert_lost(harness: &Harness, count: &Count) {
    let ran = count.get();
    let problem = assert_failure!(send(harness, "k", &json!({})).await, OUTCOME_UNKNOWN);
    assert_eq!((problem.http, problem.retryable, problem.effect), (409, false, Effect::Unknown));
    assert_eq!(problem.retry, Retry::AfterFix);
    assert_failure!(send(harness, "k", &json!({"other": 1})).await, IDEMPOTENCY_CONFLICT);
    assert_eq!(count.get(), ran);
    assert!(send(harness, "another", &json!({})).await.code() != Some("OUTCOME_UNKNOWN"));
}

#[tokio::test]
async fn a_key_whose_call_was_cut_off_never_runs_again() {
    // What nobody declared, a fault, and a failure that does not know what it did.
    for code in ["NOT_DECLARED", "BANK_SILENT"] {
        let (harness, count) = pay(move |n| if n == 1 { Err(code) } else { Ok(json!(n)) });
        assert!(send(&harness, "k", &json!({})).await.code().is_some());
        assert_lost(&harness, &count).await;
    }
    let (harness, count) = pay(|n| if n == 1 { panic!("broken") } else { Ok(json!(n)) });
    assert_failure!(send(&harness, "k", &json!({})).await, INTERNAL);
    assert_lost(&harness, &count).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_call_ran_out_of_time_never_runs_again() {
    let (count, started, go) = (Count::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = gated(&count, &started, &go);
    assert_failure!(send(&harness, "k", &json!({})).await, TIMEOUT);
    go.notify_one();
    assert_lost(&harness, &count).await;
}

#[tokio::test]
async fn a_key_whose_call_the_service_cancelled_never_runs_again() {
    let (count, started, go) = (Count::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = gated(&count, &started, &go);
    let token = CancellationToken::new();
    let request = Request::new(b"{}").with_idempotency_key("k").with_cancellation(token.clone());
    let (answer, ()) = tokio::join!(harness.send("pay.send", request), async {
        soon(started.notified()).await;
        token.cancel();
    });
    assert_failure!(answer, CANCELLED);
    go.notify_one();
    assert_lost(&harness, &count).await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_its_handler_frees_its_key() {
    let (harness, count) = pay(|n| Ok(json!(n)));
    let token = CancellationToken::new();
    token.cancel();
    let request = Request::new(b"{}").with_idempotency_key("k").with_cancellation(token);
    assert_failure!(harness.send("pay.send", request).await, CANCELLED);
    assert_eq!(send(&harness, "k", &json!({})).await.output::<u64>(), 1);
    assert_eq!(count.get(), 1);
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
async fn a_key_on_an_operation_that_takes_none_is_refused_and_nothing_runs() {
    let count = Count::default();
    let counted = |declaration| {
        let counting = count.clone();
        Operation::dynamic(declaration).with_handler(move |_, _| std::future::ready(Ok(json!(counting.up()))))
    };
    let streamed = Operation::dynamic(subscription("pay.follow"))
        .with_stream_handler(|_, _| async { Ok(Events::new(futures_util::stream::empty())) });
    let once = mutation("pay.once").with_idempotency_key();
    let builder = Registry::builder().add(counted(mutation("pay.send"))).add(counted(query("pay.look")));
    let harness = built(builder.add(counted(once)).add(streamed));
    let keyed = || Request::new(b"{}").with_idempotency_key("k").with_caller(Caller::local());
    let registry = harness.registry();
    let conversed = registry.converse("pay.send", keyed(), Conversation::new([QuestionKind::Form])).await;
    let Turn::Ended(conversed) = conversed else { panic!("nothing is asked") };
    let none = std::collections::BTreeMap::new();
    let refused = [
        registry.call("pay.send", keyed()).await,
        registry.call("pay.look", keyed()).await,
        registry.subscribe("pay.follow", keyed()).await.unwrap_err(),
        conversed,
        // A completion changes nothing, whatever the operation itself would.
        registry.complete("pay.send", "to", "", &none, keyed()).await.unwrap_err(),
        registry.complete("pay.once", "to", "", &none, keyed()).await.unwrap_err(),
    ];
    for envelope in refused {
        let problem = envelope.problem().unwrap();
        assert_eq!(problem.code.as_str(), "INVALID_REQUEST");
        assert_eq!((problem.http, problem.retry, problem.effect), (400, Retry::AfterFix, Effect::None));
        assert_eq!(problem.error, "this operation takes no idempotency key");
        assert!(problem.hint.contains("`Idempotency-Key`"), "{}", problem.hint);
    }
    assert_eq!(count.get(), 0);
}

#[tokio::test]
async fn a_composed_call_does_not_get_the_key_of_the_call_above_it() {
    let inner = Operation::dynamic(mutation("bank.book").internal())
        .with_handler(|ctx, _| async move { Ok(json!(ctx.idempotency_key())) });
    let outer = Operation::dynamic(mutation("pay.send").with_idempotency_key().with_call("bank.book"))
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("bank.book", json!({})).await?) });
    let harness = built(Registry::builder().add(inner).add(outer));
    assert_eq!(send(&harness, "k", &json!({})).await.output::<Value>(), Value::Null);
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
            soon(started.notified()).await;
            tokio::task::yield_now().await;
            go.notify_one();
        });
    assert_eq!([a, b, c].map(|answer| answer.output::<u64>()), [1, 1, 1]);
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn a_call_that_its_caller_leaves_runs_to_its_end_and_its_repetition_gets_the_outcome() {
    let (count, started, go) = (Count::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = gated(&count, &started, &go);
    let input = json!({});
    tokio::select! {
        biased;
        _ = send(&harness, "k", &input) => panic!("it does not end by itself"),
        () = started.notified() => {}
    }
    go.notify_one();
    assert_eq!(send(&harness, "k", &json!({})).await.output::<u64>(), 1);
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn a_service_that_goes_down_can_wait_for_the_calls_that_their_callers_left() {
    let (count, started, go) = (Count::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = gated(&count, &started, &go);
    let input = json!({});
    tokio::select! {
        biased;
        _ = send(&harness, "k", &input) => panic!("it does not end by itself"),
        () = started.notified() => {}
    }
    let mut settled = Box::pin(harness.registry().settled());
    assert!(futures_util::poll!(&mut settled).is_pending());
    go.notify_one();
    settled.await;
    assert_eq!(send(&harness, "k", &json!({})).await.output::<u64>(), 1);
}

#[tokio::test]
async fn two_strangers_with_the_same_key_do_not_get_each_others_outcome() {
    let count = Count::default();
    let counting = count.clone();
    let declared = mutation("pay.send").with_access(Access::anyone()).with_idempotency_key();
    let operation = Operation::dynamic(declared).with_handler(move |_, _| std::future::ready(Ok(json!(counting.up()))));
    let registry = registry(Registry::builder().add(operation));
    let send = async |address: &str| {
        let request = Request::new(b"{}").with_idempotency_key("k").with_peer(address.parse().unwrap());
        registry.call("pay.send", request).await.output().map(<[u8]>::to_vec)
    };
    assert_eq!(send("192.0.2.1").await, Some(b"1".to_vec()));
    assert_eq!(send("192.0.2.2").await, Some(b"2".to_vec()));
    assert_eq!(send("192.0.2.1").await, Some(b"1".to_vec()));
    assert_eq!(send("2001:db8::1").await, send("2001:db8::2").await, "one household is one stranger");
}

#[test]
fn a_call_whose_runtime_ends_says_that_its_outcome_is_unknown() {
    let (count, started, go) = (Count::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = gated(&count, &started, &go);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let input = json!({});
    let mut call = Box::pin(send(&harness, "k", &input));
    first.block_on(async {
        assert!(futures_util::poll!(&mut call).is_pending());
        soon(started.notified()).await;
    });
    drop(first);
    let problem = assert_failure!(second.block_on(call), OUTCOME_UNKNOWN);
    assert_eq!(problem.effect, Effect::Unknown);
    // As the key says too.
    assert_failure!(second.block_on(send(&harness, "k", &input)), OUTCOME_UNKNOWN);
}

/// A limit that refuses every call, and tells whether one of them ran in a task of its own by then.
struct Refusing(Arc<std::sync::OnceLock<Registry>>);

impl Limit for Refusing {
    fn admit(&self, _: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        assert!(self.0.get().unwrap().is_settled());
        Err(Limited::rate(1))
    }
}

#[tokio::test]
async fn a_call_with_a_key_leaves_its_caller_when_it_is_admitted_and_not_before() {
    let served = Arc::default();
    let (harness, count) = pay(|n| Ok(json!(n)));
    let refusing = harness.registry().with_layers(Layers::new().limit(Refusing(Arc::clone(&served))));
    served.get_or_init(|| refusing.clone());
    let refused = refusing.call("pay.send", Request::new(b"{}").with_idempotency_key("k")).await;
    assert_eq!(refused.code(), Some("RATE_LIMITED"));
    let asked = Conversation::new([QuestionKind::Form]);
    let refused = refusing.converse("pay.send", Request::new(b"{}").with_idempotency_key("k"), asked).await;
    assert!(matches!(refused, Turn::Ended(refused) if refused.code() == Some("RATE_LIMITED")));
    // The key is as free as it was.
    assert_eq!(send(&harness, "k", &json!({})).await.output::<u64>(), 1);
    assert_eq!(count.get(), 1);
}

/// A store whose disk is full: from the start, or once a key is claimed.
struct Full {
    claims: bool,
}

impl IdempotencyStore for Full {
    fn begin<'a>(&'a self, _: &'a IdempotencyKey, _: Fingerprint) -> BoxFuture<'a, Result<Begin, StoreError>> {
        let begin = if self.claims { Ok(Begin::Fresh) } else { Err(StoreError::new("the disk is full")) };
        Box::pin(std::future::ready(begin))
    }

    fn settle(&self, _: &IdempotencyKey, _: Settled) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::new("the disk is full"))))
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_kept_refuses_the_call_and_an_outcome_that_cannot_is_still_answered() {
    let count = Count::default();
    let with = |claims| {
        let counting = count.clone();
        let operation = Operation::dynamic(mutation("pay.send").with_idempotency_key())
            .with_handler(move |_, _| std::future::ready(Ok(json!(counting.up()))));
        built(Registry::builder().add(operation).idempotency(Full { claims }))
    };
    let problem = assert_failure!(send(&with(false), "k", &json!({})).await, OVERLOADED);
    assert!(problem.retry_after_ms.is_some() && problem.retryable);
    assert_eq!(count.get(), 0);
    assert_eq!(send(&with(true), "k", &json!({})).await.output::<u64>(), 1);
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
