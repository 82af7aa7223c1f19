//! Observers, spans and the slow-call warning: told once, and told no input.

use std::{cell::RefCell, fmt, sync::Once, time::Duration};

use redress::{
    Access, DynamicFailure, EndedCall, Events, Kind, Observer, Operation, Registry, Request,
    testing::{assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::service::{Watch, built, ends, fails, failure, query, subscription};

#[tokio::test(start_paused = true)]
async fn observers_are_told_once_of_every_way_a_call_can_end() {
    // A6.12.
    let watch = Watch::default();
    let late = Operation::dynamic(query("end.late").with_deadline(Duration::from_secs(1)))
        .with_handler(|_, _| std::future::pending());
    let stream = Operation::dynamic(subscription("end.stream"))
        .with_stream_handler(|_, _| async { Ok(Events::new(futures_util::stream::empty())) });
    let harness = built(
        Registry::builder()
            .add(ends(query("end.well"), || Ok(json!(1))))
            .add(fails(query("end.declared").fails(failure("BROKEN", Kind::Conflict)), "BROKEN", json!({})))
            .add(fails(query("end.undeclared"), "BROKEN", json!({})))
            .add(ends(query("end.panic"), || panic!("broken")))
            .add(ends(query("end.closed").with_access(Access::caller().scope("x")), || Ok(json!(1))))
            .add(late)
            .add(stream)
            .observer(watch.clone()),
    );
    let ways = [
        ("end.well", "ok"),
        ("end.declared", "BROKEN"),
        ("end.undeclared", "INTERNAL"),
        ("end.panic", "INTERNAL"),
        ("end.closed", "FORBIDDEN"),
        ("end.late", "TIMEOUT"),
        ("end.stream", "INVALID_OPERATION_TYPE"),
        ("end.nowhere", "NOT_FOUND"),
    ];
    for (name, _) in ways {
        let _ = harness.call(name, json!({})).await;
    }
    let _ = harness.send("end.well", Request::new(b"no json")).await;
    let _ = harness.subscribe("end.stream", json!({})).await;
    let mut expected: Vec<&str> = ways.iter().map(|(_, code)| *code).collect();
    expected.extend(["PARSE_ERROR", "ok"]);
    assert_eq!(watch.codes(), expected);
    let seen = watch.seen();
    assert_eq!(seen[7].operation, None);
    assert_eq!((seen[0].operation.as_deref(), seen[0].caller.as_deref()), (Some("end.well"), Some("ada")));
}

/// An observer that panics.
struct Broken;

impl Observer for Broken {
    fn ended(&self, _: &EndedCall<'_>) {
        panic!("the observer broke");
    }
}

#[tokio::test]
async fn an_observer_that_panics_changes_no_outcome_and_stops_no_other_observer() {
    let watch = Watch::default();
    let operations = Registry::builder().add(ends(query("end.well"), || Ok(json!(1)))).add(fails(
        query("end.badly").fails(failure("BROKEN", Kind::Conflict)),
        "BROKEN",
        json!({}),
    ));
    let harness = built(operations.observer(Broken).observer(watch.clone()));
    assert_ok!(harness.call("end.well", json!({})).await);
    assert_failure!(harness.call("end.badly", json!({})).await, BROKEN);
    assert_eq!(watch.codes(), ["ok", "BROKEN"]);
}

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What the engine has logged on this thread since it was started.
///
/// One subscriber serves the whole process, since the interest in a callsite is kept for all
/// threads together; a test runs on one thread, so its lines are its own.
struct Log;

impl Log {
    fn start() -> Log {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            tracing::subscriber::set_global_default(Writer).expect("no other test sets a subscriber");
            tracing::callsite::rebuild_interest_cache();
        });
        LINES.take();
        Log
    }

    fn lines(&self) -> Vec<String> {
        LINES.with_borrow(Clone::clone)
    }

    /// What was said about calls, in one text.
    fn spans(&self) -> String {
        self.lines().into_iter().filter(|line| line.starts_with("span")).collect::<Vec<_>>().join("\n")
    }
}

/// A subscriber that writes down every span and event with its fields.
struct Writer;

fn write(line: String) {
    LINES.with_borrow_mut(|lines| lines.push(line));
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push_str(&format!(" {field}={value}"));
    }
}

impl Subscriber for Writer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("redress")
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        let mut line = format!("span {}", span.metadata().name());
        span.record(&mut Line(&mut line));
        write(line);
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        let mut line = "span".to_owned();
        values.record(&mut Line(&mut line));
        write(line);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut Line(&mut line));
        write(line);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn a_span_says_operation_code_kind_and_request_id_and_no_input_value() {
    let log = Log::start();
    let declaration = query("files.read").fails(failure("FILE_NOT_FOUND", Kind::NotFound)).with_input(json!({
        "type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false,
    }));
    let operation = Operation::dynamic(declaration)
        .with_handler(|_, _| async { Err(DynamicFailure::new("FILE_NOT_FOUND", json!({})))? });
    let harness = built(Registry::builder().add(operation));
    let request = |input: Value| Request::new(input.to_string().into_bytes()).with_request_id("req-7");
    assert_failure!(harness.send("files.read", request(json!({"path": "hunter2"}))).await, FILE_NOT_FOUND);
    let spans = log.spans();
    for field in ["redress.call", "request_id=req-7", "operation=files.read", "code=FILE_NOT_FOUND", "kind=not_found"] {
        assert!(spans.contains(field), "{field} is in\n{spans}");
    }
    assert_failure!(harness.send("files.read", request(json!({"path": 7, "hunter2": "hunter2"}))).await, INVALID_INPUT);
    assert!(!log.lines().join("\n").contains("hunter2"));
}

#[tokio::test]
async fn a_contained_cause_is_in_the_log_under_the_request_id() {
    let log = Log::start();
    let operation = ends(query("files.read"), || Err(std::io::Error::other("the disk is on fire"))?);
    let request = Request::new(b"{}").with_request_id("req-8");
    assert_failure!(built(Registry::builder().add(operation)).send("files.read", request).await, INTERNAL);
    let found = log.lines().into_iter().find(|line| line.contains("the disk is on fire")).unwrap();
    assert!(found.starts_with("ERROR") && found.contains("request_id=req-8"), "{found}");
}

#[tokio::test]
async fn a_call_that_its_caller_left_ends_its_span_as_cancelled() {
    let log = Log::start();
    let operation = Operation::dynamic(query("slow.wait")).with_handler(|_, _| std::future::pending());
    let registry = crate::service::registry(Registry::builder().add(operation));
    tokio::select! {
        biased;
        _ = registry.call("slow.wait", Request::new(b"{}")) => panic!("it does not end by itself"),
        () = std::future::ready(()) => {}
    }
    assert!(log.spans().contains("code=CANCELLED"), "{}", log.spans());
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_is_warned_of_and_a_fast_one_is_not() {
    let log = Log::start();
    let operation = Operation::dynamic(query("slow.wait")).with_handler(|_, input| async move {
        tokio::time::sleep(Duration::from_millis(input["ms"].as_u64().unwrap())).await;
        Ok(Value::Null)
    });
    let harness = built(Registry::builder().add(operation).slow(Duration::from_millis(200)));
    let warned = |log: &Log| log.lines().iter().filter(|line| line.starts_with("WARN")).count();
    assert_ok!(harness.call("slow.wait", json!({"ms": 100})).await);
    assert_eq!(warned(&log), 0);
    assert_ok!(harness.call("slow.wait", json!({"ms": 300})).await);
    assert_eq!(warned(&log), 1);
    let warning = log.lines().into_iter().find(|line| line.starts_with("WARN")).unwrap();
    assert!(warning.contains("operation=slow.wait") && warning.contains("request_id="), "{warning}");
}
