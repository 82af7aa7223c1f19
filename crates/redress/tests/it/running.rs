//! Deadlines, cancellation and the caller that goes away: the real future is dropped.

use std::{sync::Arc, time::Duration};

use redress::{
    Effect, Operation, Registry, Request, Retry,
    contract::{self, RequestId},
    testing::{Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::service::{Dropped, Watch, built, mutation, query, soon, with};

const SECOND: Duration = Duration::from_secs(1);

/// An operation that never ends by itself, and says when it started and was dropped.
struct Endless {
    started: Arc<Notify>,
    dropped: Dropped,
}

impl Endless {
    fn new() -> Endless {
        Endless { started: Arc::default(), dropped: Dropped::default() }
    }

    fn operation(&self, declaration: contract::OperationDeclaration) -> Operation {
        let (started, dropped) = (Arc::clone(&self.started), self.dropped.clone());
        Operation::dynamic(declaration).with_handler(move |_, _| {
            let (started, guard) = (Arc::clone(&started), dropped.guard());
            async move {
                let _guard = guard;
                started.notify_one();
                std::future::pending().await
            }
        })
    }
}

/// How long a call took by the paused clock.
async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let since = Instant::now();
    (call.await, since.elapsed())
}

fn near(found: Duration, wanted: Duration) -> bool {
    found >= wanted && found < wanted + Duration::from_millis(50)
}

#[tokio::test(start_paused = true)]
async fn the_operations_deadline_drops_the_handler() {
    // To end a call is to drop its future.
    let endless = Endless::new();
    let harness = with(endless.operation(query("slow.wait").with_deadline(2 * SECOND)));
    let (answer, took) = timed(harness.call("slow.wait", json!({}))).await;
    assert_failure!(answer, TIMEOUT);
    assert_eq!(answer.details(), json!({"deadline_ms": 2000}));
    assert!(near(took, 2 * SECOND), "{took:?}");
    assert!(endless.dropped.is());
}

#[tokio::test(start_paused = true)]
async fn the_registrys_deadline_holds_where_the_operation_says_nothing() {
    let endless = Endless::new();
    let harness = built(Registry::builder().add(endless.operation(query("slow.wait"))).deadline(3 * SECOND));
    let (answer, took) = timed(harness.call("slow.wait", json!({}))).await;
    assert_failure!(answer, TIMEOUT);
    assert!(near(took, 3 * SECOND), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_callers_shorter_deadline_holds_and_a_longer_one_does_not() {
    for (asked, expected) in [(1, 1), (60, 2)] {
        let endless = Endless::new();
        let harness = with(endless.operation(query("slow.wait").with_deadline(2 * SECOND)));
        let request = Request::new(b"{}").with_deadline(asked * SECOND);
        let (answer, took) = timed(harness.send("slow.wait", request)).await;
        assert_failure!(answer, TIMEOUT);
        assert!(near(took, expected * SECOND), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_does_not_start_the_handler() {
    let endless = Endless::new();
    let harness = with(endless.operation(mutation("slow.wait")));
    let answer = harness.send("slow.wait", Request::new(b"{}").with_deadline(Duration::ZERO)).await;
    let problem = assert_failure!(answer, TIMEOUT);
    assert_eq!((problem.retry, problem.effect), (Retry::Safe, Effect::None));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_safe_to_repeat_for_a_query_and_with_a_key_and_not_otherwise() {
    let deadline = |operation: contract::OperationDeclaration| operation.with_deadline(SECOND);
    let cases = [
        (deadline(query("slow.wait")), None, Retry::Safe, true),
        (deadline(mutation("slow.wait")), None, Retry::Unsafe, false),
        (deadline(mutation("slow.wait").with_idempotency_key()), None, Retry::Unsafe, false),
        (deadline(mutation("slow.wait").with_idempotency_key()), Some("key"), Retry::SafeWithKey, true),
    ];
    for (place, (declaration, key, retry, retryable)) in cases.into_iter().enumerate() {
        let mut request = Request::new(b"{}");
        if let Some(key) = key {
            request = request.with_idempotency_key(key);
        }
        let harness = with(Endless::new().operation(declaration));
        let problem = assert_failure!(harness.send("slow.wait", request).await, TIMEOUT);
        assert_eq!((problem.retry, problem.retryable, problem.effect), (retry, retryable, Effect::Unknown), "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_composed_call_inherits_what_is_left_of_its_parents_deadline() {
    let endless = Endless::new();
    let inner = endless.operation(query("slow.inner").with_deadline(60 * SECOND));
    let outer = query("slow.outer").with_deadline(5 * SECOND).with_call("slow.inner");
    let outer = Operation::dynamic(outer).with_handler(|ctx, _| async move {
        tokio::time::sleep(3 * SECOND).await;
        let since = Instant::now();
        let ended = ctx.call_dynamic("slow.inner", json!({})).await;
        let code = ended.err().map(|called| called.code().to_owned());
        Ok(json!({"code": code, "ms": since.elapsed().as_millis() as u64}))
    });
    let watch = Watch::default();
    let harness = built(Registry::builder().add(inner).add(outer).observer(watch.clone()));
    let (_, took) = timed(harness.call("slow.outer", json!({}))).await;
    assert!(near(took, 5 * SECOND), "{took:?}");
    assert!(endless.dropped.is());
    let inner = watch.seen().into_iter().find(|seen| seen.operation.as_deref() == Some("slow.inner")).unwrap();
    assert_eq!(inner.code.as_deref(), Some("TIMEOUT"));
}

async fn cancelled_midway(harness: &Harness, name: &str, endless: &Endless) -> redress::testing::CallAnswer {
    let token = CancellationToken::new();
    let request = Request::new(b"{}").with_cancellation(token.clone());
    let (answer, ()) = tokio::join!(harness.send(name, request), async {
        soon(endless.started.notified()).await;
        token.cancel();
    });
    answer
}

#[tokio::test]
async fn a_faces_token_cancels_the_handler_and_drops_it() {
    let endless = Endless::new();
    let harness = with(endless.operation(query("slow.wait")));
    let answer = cancelled_midway(&harness, "slow.wait", &endless).await;
    let problem = assert_failure!(answer, CANCELLED);
    assert_eq!((problem.retryable, problem.http), (false, 499));
    assert!(endless.dropped.is());
}

#[tokio::test]
async fn cancelling_a_call_cancels_the_calls_below_it() {
    let endless = Endless::new();
    let outer = query("slow.outer").with_call("slow.inner");
    let outer = Operation::dynamic(outer)
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("slow.inner", json!({})).await?) });
    let watch = Watch::default();
    let inner = endless.operation(query("slow.inner"));
    let harness = built(Registry::builder().add(inner).add(outer).observer(watch.clone()));
    assert_failure!(cancelled_midway(&harness, "slow.outer", &endless).await, CANCELLED);
    assert!(endless.dropped.is());
    assert_eq!(watch.codes(), ["CANCELLED", "CANCELLED"]);
}

/// An operation whose handler spawns a task that waits for the call's own token.
fn spawning(declaration: contract::OperationDeclaration, started: &Arc<Notify>, told: &Arc<Notify>) -> Operation {
    let (started, told) = (Arc::clone(started), Arc::clone(told));
    Operation::dynamic(declaration).with_handler(move |ctx, _| {
        let (started, told) = (Arc::clone(&started), Arc::clone(&told));
        async move {
            let token = ctx.cancellation().clone();
            tokio::spawn(async move {
                token.cancelled().await;
                told.notify_one();
            });
            started.notify_one();
            std::future::pending::<()>().await;
            Ok(Value::Null)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_is_told_of_cancellation_timeout_and_a_caller_that_left() {
    // The tree goes on below the handler.
    let (started, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let harness = with(spawning(query("slow.spawn").with_deadline(SECOND), &started, &told));

    assert_failure!(harness.call("slow.spawn", json!({})).await, TIMEOUT);
    soon(told.notified()).await;
    soon(started.notified()).await;

    let token = CancellationToken::new();
    let request = Request::new(b"{}").with_cancellation(token.clone());
    let (answer, ()) = tokio::join!(harness.send("slow.spawn", request), async {
        soon(started.notified()).await;
        token.cancel();
    });
    assert_failure!(answer, CANCELLED);
    soon(told.notified()).await;

    tokio::select! {
        biased;
        _ = harness.call("slow.spawn", json!({})) => panic!("it does not end by itself"),
        () = started.notified() => {}
    }
    soon(told.notified()).await;
}

#[tokio::test(start_paused = true)]
async fn a_composed_call_in_a_spawned_task_is_cancelled_with_its_parent() {
    // The token reaches where dropping the parent's future does not.
    let endless = Endless::new();
    let watch = Watch::default();
    let outer = query("slow.outer").with_call("slow.inner").with_deadline(SECOND);
    let (done, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let finished = Arc::clone(&ended);
    let outer = Operation::dynamic(outer).with_handler(move |ctx, _| {
        let (done, finished) = (Arc::clone(&done), Arc::clone(&finished));
        async move {
            tokio::spawn(async move {
                let _ = ctx.call_dynamic("slow.inner", json!({})).await;
                finished.notify_one();
            });
            done.notified().await;
            Ok(Value::Null)
        }
    });
    let inner = endless.operation(query("slow.inner").with_deadline(60 * SECOND));
    let harness = built(Registry::builder().add(inner).add(outer).observer(watch.clone()));
    let token = CancellationToken::new();
    let request = Request::new(b"{}").with_cancellation(token.clone());
    let (answer, ()) = tokio::join!(harness.send("slow.outer", request), async {
        soon(endless.started.notified()).await;
        token.cancel();
    });
    assert_failure!(answer, CANCELLED);
    soon(ended.notified()).await;
    assert_eq!(watch.codes(), ["CANCELLED", "CANCELLED"]);
}

#[tokio::test]
async fn a_task_that_a_handler_left_behind_on_purpose_is_not_cancelled_when_it_returns() {
    let token = Arc::new(std::sync::Mutex::new(None));
    let kept = Arc::clone(&token);
    let operation = Operation::dynamic(query("jobs.start")).with_handler(move |ctx, _| {
        *kept.lock().unwrap() = Some(ctx.cancellation().clone());
        std::future::ready(Ok(Value::Null))
    });
    assert_ok!(with(operation).call("jobs.start", json!({})).await);
    assert!(!token.lock().unwrap().as_ref().unwrap().is_cancelled());
}

#[tokio::test]
async fn dropping_the_caller_drops_the_handler_and_tells_observers_once() {
    let endless = Endless::new();
    let watch = Watch::default();
    let harness = built(Registry::builder().add(endless.operation(query("slow.wait"))).observer(watch.clone()));
    tokio::select! {
        biased;
        _ = harness.call("slow.wait", json!({})) => panic!("it does not end by itself"),
        () = endless.started.notified() => {}
    }
    assert!(endless.dropped.is());
    assert_eq!(watch.codes(), ["CANCELLED"]);
}

#[tokio::test]
async fn dropping_the_caller_of_a_handler_whose_drop_panics_does_not_panic() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let started = Arc::new(Notify::new());
    let starting = Arc::clone(&started);
    let operation = Operation::dynamic(query("slow.wait")).with_handler(move |_, _| {
        let starting = Arc::clone(&starting);
        async move {
            let _bomb = Bomb;
            starting.notify_one();
            std::future::pending().await
        }
    });
    let watch = Watch::default();
    let harness = built(Registry::builder().add(operation).observer(watch.clone()));
    tokio::select! {
        biased;
        _ = harness.call("slow.wait", json!({})) => panic!("it does not end by itself"),
        () = started.notified() => {}
    }
    assert_eq!(watch.codes(), ["CANCELLED"]);
}

#[tokio::test]
async fn waiting_for_the_first_call_with_a_key_can_be_cancelled_too() {
    let endless = Endless::new();
    let harness = with(endless.operation(mutation("slow.wait").with_idempotency_key()));
    let token = CancellationToken::new();
    let keyed = || Request::new(b"{}").with_idempotency_key("key");
    let first = harness.send("slow.wait", keyed());
    let second = harness.send("slow.wait", keyed().with_cancellation(token.clone()));
    tokio::pin!(first);
    tokio::select! {
        biased;
        _ = &mut first => panic!("it does not end by itself"),
        () = endless.started.notified() => {}
    }
    let (answer, ()) = tokio::join!(second, async {
        tokio::task::yield_now().await;
        token.cancel();
    });
    assert_failure!(answer, CANCELLED);
}

#[tokio::test]
async fn a_well_formed_request_id_is_kept_and_any_other_replaced_by_a_uuid_of_version_seven() {
    let operation = Operation::dynamic(query("who.am_i"))
        .with_handler(|ctx, _| async move { Ok(json!(ctx.request_id().to_string())) });
    let harness = with(operation);
    let kept = harness.send("who.am_i", Request::new(b"{}").with_request_id("trace-1:a.b_c")).await;
    assert_eq!(kept.envelope().meta().request_id, RequestId::given("trace-1:a.b_c").unwrap());
    assert_eq!(kept.output::<String>(), "trace-1:a.b_c");

    let mut made = Vec::new();
    for bad in ["", "a b", "line\nbreak", "ä", &"x".repeat(129)] {
        let answer = harness.send("who.am_i", Request::new(b"{}").with_request_id(bad)).await;
        let id = answer.output::<String>();
        assert_eq!(id, answer.envelope().meta().request_id.to_string());
        // xxxxxxxx-xxxx-7xxx-[89ab]xxx-xxxxxxxxxxxx
        assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'), "{id}");
        assert!(matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{id}");
        made.push(id);
    }
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_envelope_says_how_long_the_call_took_and_which_session_it_belongs_to() {
    let operation = Operation::dynamic(query("slow.wait")).with_handler(|ctx, _| async move {
        tokio::time::sleep(SECOND).await;
        Ok(json!(ctx.session_id()))
    });
    let answer = with(operation).send("slow.wait", Request::new(b"{}").with_session("s1")).await;
    assert_eq!(answer.output::<String>(), "s1");
    let meta = answer.envelope().meta();
    assert!(near(Duration::from_millis(meta.elapsed_ms), SECOND), "{meta:?}");
    assert_eq!(meta.session_id.as_deref(), Some("s1"));
}
