//! The audit: every call that access has judged is recorded once, with no input, and no answer comes before its record.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use redress::{
    Access, Audit, AuditedCall, Caller, Conversation, Event, Events, Field, Form, InFlight, Kind, Layers, Limit,
    Limited, LimitedCall, Operation, Permit, Question, QuestionKind, Receipt, Registry, Request, Turn,
    testing::{assert_failure, assert_ok},
};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};

use crate::service::{built, ends, fails, failure, mutation, query, registry, subscription};

/// One record, as an audit was given it.
#[derive(Clone, Debug)]
struct Kept {
    what: String,
    parent: Option<String>,
    input: Option<[u8; 32]>,
    repeated: bool,
}

/// An audit that keeps its records in a list, when it is let.
struct List {
    records: Mutex<Vec<Kept>>,
    keeps: Arc<Semaphore>,
    open: AtomicBool,
}

impl List {
    fn new() -> Arc<List> {
        let keeps = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Arc::new(List { records: Mutex::default(), keeps, open: AtomicBool::new(true) })
    }

    fn records(&self) -> Vec<Kept> {
        self.records.lock().unwrap().clone()
    }

    fn lines(&self) -> Vec<String> {
        self.records().into_iter().map(|kept| kept.what).collect()
    }
}

impl Audit for List {
    fn record(&self, call: &AuditedCall<'_>) -> Option<Receipt> {
        let caller = call.caller.map_or("nobody", Caller::id);
        self.records.lock().unwrap().push(Kept {
            what: format!("{caller} {} {}", call.operation.name(), call.code()),
            parent: call.parent.map(ToString::to_string),
            input: call.input.copied(),
            repeated: call.repeated,
        });
        let keeps = Arc::clone(&self.keeps);
        Some(Receipt::new(async move {
            let _ = keeps.acquire().await;
        }))
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }
}

fn audited(registry: &Registry, list: &Arc<List>) -> Registry {
    registry.with_layers(Layers::new().audit(list.clone()))
}

fn ada() -> Request<'static> {
    Request::new(b"{}".as_slice()).with_caller(Caller::new("ada"))
}

#[tokio::test(start_paused = true)]
async fn every_way_a_call_can_end_is_recorded_once_and_what_a_flood_is_refused_with_is_not() {
    let list = List::new();
    let late = Operation::dynamic(query("end.late").with_deadline(Duration::from_secs(1)))
        .with_handler(|_, _| std::future::pending());
    let stream = Operation::dynamic(subscription("end.stream"))
        .with_stream_handler(|_, _| async { Ok(Events::new(futures_util::stream::empty())) });
    let registry = registry(
        Registry::builder()
            .add(ends(query("end.well"), || Ok(json!(1))))
            .add(fails(query("end.declared").fails(failure("BROKEN", Kind::Conflict)), "BROKEN", json!({})))
            .add(ends(query("end.panic"), || panic!("broken")))
            .add(ends(query("end.closed").with_access(Access::caller().scope("x")), || Ok(json!(1))))
            .add(late)
            .add(stream),
    );
    let registry = audited(&registry, &list);
    for name in ["end.well", "end.declared", "end.panic", "end.closed", "end.late", "end.stream", "end.nowhere"] {
        let _ = registry.call(name, ada()).await;
    }
    let _ = registry.call("end.well", Request::new(b"no json".as_slice())).await;
    // Nobody is known here, and nobody must be able to fill a disk.
    assert_eq!(registry.call("end.closed", Request::default()).await.code(), Some("AUTH_REQUIRED"));
    let mut stream = registry.subscribe("end.stream", ada()).await.unwrap();
    assert!(matches!(stream.next().await, Some(Event::Completed(_))));
    let full = registry.with_layers(Layers::new().limit(InFlight::new(0)));
    assert_eq!(full.call("end.well", ada()).await.code(), Some("OVERLOADED"));
    assert_eq!(
        list.lines(),
        [
            "ada end.well ok",
            "ada end.declared BROKEN",
            "ada end.panic INTERNAL",
            "ada end.closed FORBIDDEN",
            "ada end.late TIMEOUT",
            "nobody end.well PARSE_ERROR",
            "ada end.stream ok",
        ]
    );
}

/// A limit that breaks while it is asked.
struct Broken;

impl Limit for Broken {
    fn admit(&self, _: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        panic!("a limit broke")
    }
}

#[tokio::test]
async fn an_input_is_looked_at_after_the_limits_or_where_access_refuses_its_call() {
    let list = List::new();
    let builder = Registry::builder()
        .add(ends(query("end.well"), || Ok(json!(1))))
        .add(ends(query("end.closed").with_access(Access::caller().scope("x")), || Ok(json!(1))));
    let registry = audited(&registry(builder), &list);
    assert_eq!(registry.call("end.well", ada()).await.code(), None);
    assert_eq!(registry.call("end.closed", ada()).await.code(), Some("FORBIDDEN"));
    // A flood that a limit refuses must not cost a digest of each input; what a limit ends otherwise shows that.
    let limited = registry.with_layers(Layers::new().limit(Broken));
    assert_eq!(limited.call("end.well", ada()).await.code(), Some("INTERNAL"));
    let looked_at: Vec<bool> = list.records().iter().map(|kept| kept.input.is_some()).collect();
    assert_eq!(looked_at, [true, true, false]);
}

#[tokio::test]
async fn a_call_that_its_caller_leaves_is_recorded_as_cancelled() {
    let list = List::new();
    let waits = Operation::dynamic(query("wait.long")).with_handler(|_, _| std::future::pending());
    let registry = audited(&registry(Registry::builder().add(waits)), &list);
    {
        let mut call = Box::pin(registry.call("wait.long", ada()));
        assert!(futures_util::poll!(&mut call).is_pending());
    }
    assert_eq!(list.lines(), ["ada wait.long CANCELLED"]);
}

#[tokio::test]
async fn an_answer_comes_after_its_record_is_kept() {
    let list = List::new();
    list.keeps.forget_permits(Semaphore::MAX_PERMITS);
    let registry = audited(&registry(Registry::builder().add(ends(query("end.well"), || Ok(json!(1))))), &list);
    let mut call = Box::pin(registry.call("end.well", ada()));
    assert!(futures_util::poll!(&mut call).is_pending());
    assert_eq!(list.lines(), ["ada end.well ok"]);
    list.keeps.add_permits(1);
    assert!(call.await.is_ok());
    // Not to wait any longer changes nothing about the record.
    list.keeps.forget_permits(1);
    {
        let mut call = Box::pin(registry.call("end.well", ada()));
        assert!(futures_util::poll!(&mut call).is_pending());
    }
    assert_eq!(list.lines(), ["ada end.well ok", "ada end.well ok"]);
}

#[tokio::test]
async fn while_nothing_can_be_recorded_no_call_runs_and_the_service_is_not_ready() {
    let list = List::new();
    let registry = audited(&registry(Registry::builder().add(ends(mutation("end.well"), || Ok(json!(1))))), &list);
    assert!(registry.is_ready());
    list.open.store(false, Ordering::SeqCst);
    assert!(!registry.is_ready());
    let refused = registry.call("end.well", ada()).await;
    assert_eq!(refused.code(), Some("OVERLOADED"));
    assert!(refused.problem().unwrap().retry_after_ms.is_some());
    assert!(list.lines().is_empty());
    list.open.store(true, Ordering::SeqCst);
    assert!(registry.call("end.well", ada()).await.is_ok());
}

#[tokio::test]
async fn a_composed_call_is_recorded_with_the_call_above_it_and_before_it() {
    let list = List::new();
    let above = mutation("work.above").with_call("work.below");
    let above = Operation::dynamic(above)
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("work.below", json!({})).await?) });
    let below = ends(query("work.below"), || Ok(json!(1)));
    let registry = audited(&registry(Registry::builder().add(above).add(below)), &list);
    assert!(registry.call("work.above", ada().with_request_id("root")).await.is_ok());
    let records = list.records();
    assert_eq!(records.len(), 2);
    assert!(records[0].what.ends_with("work.below ok"), "{records:?}");
    assert_eq!((records[0].parent.as_deref(), records[1].parent.as_deref()), (Some("root"), None));
}

#[tokio::test]
async fn a_record_has_the_digest_of_the_input_unless_that_is_too_large_to_be_looked_at() {
    let list = List::new();
    let small = Registry::builder().add(ends(query("end.well"), || Ok(json!(1)))).max_input(16);
    let registry = audited(&registry(small), &list);
    for input in [&br#"{"a":1}"#[..], &br#"{"a":1}"#[..], &br#"{"a":2}"#[..], &br#"{"a":"much too long"}"#[..]] {
        let _ = registry.call("end.well", Request::new(input)).await;
    }
    let inputs: Vec<_> = list.records().into_iter().map(|kept| kept.input).collect();
    assert!(inputs[0].is_some() && inputs[0] == inputs[1] && inputs[0] != inputs[2] && inputs[3].is_none());
}

#[tokio::test]
async fn a_record_has_the_digest_of_a_large_input_too() {
    let list = List::new();
    let registry = audited(&registry(Registry::builder().add(ends(query("end.well"), || Ok(json!(1))))), &list);
    for letter in ["x", "x", "y"] {
        let input = json!({"a": letter.repeat(200_000)}).to_string();
        assert!(registry.call("end.well", Request::new(input.as_bytes())).await.is_ok());
    }
    let inputs: Vec<_> = list.records().into_iter().map(|kept| kept.input).collect();
    assert!(inputs[0].is_some() && inputs[0] == inputs[1] && inputs[0] != inputs[2]);
}

#[tokio::test]
async fn a_repeated_call_is_recorded_as_one_and_a_call_with_a_key_under_its_own_end() {
    let list = List::new();
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let pay = Operation::dynamic(mutation("pay.send").with_idempotency_key()).with_handler({
        let (started, go) = (Arc::clone(&started), Arc::clone(&go));
        move |_, _| {
            let (started, go) = (Arc::clone(&started), Arc::clone(&go));
            async move {
                started.notify_one();
                go.notified().await;
                Ok(json!(1))
            }
        }
    });
    let registry = audited(&registry(Registry::builder().add(pay)), &list);
    tokio::select! {
        biased;
        _ = registry.call("pay.send", ada().with_idempotency_key("k")) => panic!("it does not end by itself"),
        () = started.notified() => {}
    }
    go.notify_one();
    assert!(registry.call("pay.send", ada().with_idempotency_key("k")).await.is_ok());
    let mut seen: Vec<_> = list.records().into_iter().map(|kept| (kept.what, kept.repeated)).collect();
    // Which of the two ends first is the runtime's business.
    seen.sort();
    assert_eq!(seen, [("ada pay.send ok".to_owned(), false), ("ada pay.send ok".to_owned(), true)]);
}

#[tokio::test]
async fn a_round_that_asks_is_recorded_as_asking() {
    let list = List::new();
    let greet = Operation::dynamic(query("door.greet")).with_handler(|ctx, _| async move {
        let form = Form::new().field("name", Field::text());
        Ok(json!(ctx.ask("name", Question::form("Who is there?", form)).await?.accepted().is_some()))
    });
    let registry = audited(&registry(Registry::builder().add(greet)), &list);
    let turn = registry.converse("door.greet", ada(), Conversation::new([QuestionKind::Form])).await;
    assert!(matches!(turn, Turn::Asks(_)));
    assert_eq!(list.lines(), ["ada door.greet asks"]);
}

/// An audit that panics.
struct Panics;

impl Audit for Panics {
    fn record(&self, _: &AuditedCall<'_>) -> Option<Receipt> {
        panic!("broken");
    }
}

#[tokio::test]
async fn an_audit_that_panics_changes_no_outcome() {
    let harness = built(
        Registry::builder()
            .add(ends(query("end.well"), || Ok(json!(1))))
            .add(ends(query("end.closed").with_access(Access::caller().scope("x")), || Ok(json!(1))))
            .audit(Panics),
    );
    assert_ok!(harness.call("end.well", json!({})).await);
    assert_failure!(harness.call("end.closed", json!({})).await, FORBIDDEN);
}
