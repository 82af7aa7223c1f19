//! Observers, spans and the slow-call warning: told once, and told no input.

use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::{Arc, Mutex, Once},
    time::Duration,
};

use redress::{
    Access, Caller, DynamicFailure, EndedCall, Events, Failure, IdentityError, IdentityProvider, Kind, Observer,
    Operation, Outcome, Registry, Request, Secret, State, data, operation,
    testing::{assert_failure, assert_ok},
};
use redress_core::Refusal;
use serde_json::{Value, json};
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::service::{Watch, built, ends, fails, failure, query, subscription};

#[tokio::test(start_paused = true)]
async fn observers_are_told_once_of_every_way_a_call_can_end() {
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
    /// How many spans this thread is in.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
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

    fn enter(&self, _: &span::Id) {
        ENTERED.set(ENTERED.get() + 1);
    }

    fn exit(&self, _: &span::Id) {
        ENTERED.set(ENTERED.get() - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_logs_belongs_to_the_span_of_its_call() {
    let _log = Log::start();
    let inside = ends(query("demo.inside"), || Ok(json!(ENTERED.get())));
    let harness = built(Registry::builder().add(inside));
    assert_eq!(harness.call("demo.inside", json!({})).await.output::<usize>(), 1);
    assert_eq!(ENTERED.get(), 0);
}

/// Writes down what it is told, in order.
#[derive(Clone, Default)]
struct Both(Arc<Mutex<Vec<String>>>);

impl Observer for Both {
    fn began(&self, operation: &redress::contract::OperationDeclaration) {
        self.0.lock().unwrap().push(format!("{} began", operation.name()));
    }

    fn ended(&self, call: &EndedCall<'_>) {
        let name = call.operation.map_or("nothing", |operation| operation.name().as_str());
        self.0.lock().unwrap().push(format!("{name} ended"));
    }
}

#[tokio::test]
async fn observers_are_told_of_a_beginning_where_there_is_such_an_operation() {
    let both = Both::default();
    let read = ends(query("demo.read"), || Ok(json!({})));
    let harness = built(Registry::builder().add(read).observer(both.clone()));
    assert_ok!(harness.call("demo.read", json!({})).await);
    assert_failure!(harness.call("demo.none", json!({})).await, NOT_FOUND);
    assert_eq!(*both.0.lock().unwrap(), ["demo.read began", "demo.read ended", "nothing ended"]);
}

#[tokio::test(start_paused = true)]
async fn the_log_says_which_next_action_of_a_call_site_is_left_out_and_why() {
    let declaration = query("files.read").fails(failure("FILE_NOT_FOUND", Kind::NotFound));
    let read = Operation::dynamic(declaration).with_handler(|_, _| async {
        let failure = redress::Fail::from(DynamicFailure::new("FILE_NOT_FOUND", json!({})));
        Err(failure
            .with_next_action("files.none", &json!({}), "")
            .with_next_action("no name", &json!({}), "")
            .with_next_action("files.hidden", &json!({}), "")
            .with_next_action("files.list", &json!({"folder": 7}), "")
            .with_next_action("files.list", &json!({"folder": "notes"}), ""))
    });
    let folder = json!({"type": "object", "properties": {"folder": {"type": "string"}}});
    let list = ends(query("files.list").with_input(folder), || Ok(json!([])));
    let hidden = ends(query("files.hidden").internal(), || Ok(json!([])));
    let harness = built(Registry::builder().add(read).add(list).add(hidden));
    let log = Log::start();
    let problem = assert_failure!(harness.call("files.read", json!({})).await, FILE_NOT_FOUND);
    assert_eq!(problem.next_actions.len(), 1);
    let left_out: Vec<String> = log.lines().into_iter().filter(|line| line.contains("is left out")).collect();
    let expected = [
        "why=there is no such operation",
        "why=there is no such operation",
        "next=files.hidden why=its caller cannot call that",
        "next=files.list why=its input does not fit",
    ];
    assert_eq!(left_out.len(), expected.len(), "{left_out:#?}");
    for why in expected {
        let told = left_out.iter().filter(|line| line.starts_with("WARN") && line.contains(why)).count();
        assert_eq!(told, expected.iter().filter(|other| **other == why).count(), "{why}: {left_out:#?}");
    }
    let named = left_out.iter().filter(|line| line.contains("operation=files.read code=FILE_NOT_FOUND"));
    assert_eq!(named.count(), 3, "{left_out:#?}");
    assert!(!left_out.join("").contains("files.none"), "a name that is not known may come from anywhere");
}

#[tokio::test(start_paused = true)]
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

/// The lines that are written at the level that is on by default.
fn by_default(log: &Log) -> Vec<String> {
    log.lines().into_iter().filter(|line| ["ERROR", "WARN", "INFO"].iter().any(|on| line.starts_with(on))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_contained_cause_is_in_the_log_once_with_operation_code_and_request_id() {
    for (text, code, kind) in [
        ("the disk is on fire", "INTERNAL", "internal"),
        ("current transaction is aborted", "INTERNAL", "cancelled"),
        ("the database is locked", "UPSTREAM_UNREACHABLE", "unavailable"),
    ] {
        let log = Log::start();
        let operation = ends(query("files.read"), move || Err(std::io::Error::other(text))?);
        let request = Request::new(b"{}").with_request_id("req-8");
        built(Registry::builder().add(operation)).send("files.read", request).await;
        let lines = by_default(&log);
        let [line] = &lines[..] else { panic!("one line is written: {lines:?}") };
        assert_eq!(line.matches(text).count(), 1, "{line}");
        for part in
            ["ERROR", "request_id=req-8", "operation=files.read", &format!("code={code}"), &format!("kind={kind}")]
        {
            assert!(line.contains(part), "{part} is in {line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_declared_says_so_in_the_log() {
    let log = Log::start();
    let outer = Operation::dynamic(query("files.copy"))
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("files.read", json!({})).await?) });
    let stray = Operation::dynamic(query("files.stray"))
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("hunter2.read", json!({})).await?) });
    let inner = ends(query("files.read"), || Ok(json!(1)));
    let harness = built(Registry::builder().add(outer).add(stray).add(inner));
    assert_failure!(harness.call("files.copy", json!({})).await, INTERNAL);
    assert_failure!(harness.call("files.stray", json!({})).await, INTERNAL);
    let lines = by_default(&log);
    let told = |parts: [&str; 2]| lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(told(["operation=files.copy callee=files.read", "add it to `calls`"]), "{lines:?}");
    assert!(told(["operation=files.stray", "another that there is not"]), "{lines:?}");
    assert!(!lines.join("").contains("hunter2"), "{lines:?}");
}

/// What was caused by something that its caller is not told.
#[derive(Debug, Failure)]
enum Caused {
    /// The store is busy.
    #[failure(kind = unavailable, recover(wait, hint = "Wait a moment and call again."))]
    StoreBusy {
        #[source]
        cause: std::io::Error,
    },
    /// There is no such thing.
    #[failure(kind = not_found, message = "no thing {id}", recover(stop, hint = "There is nothing left to try here."))]
    ThingMissing {
        id: String,
        #[source]
        cause: std::io::Error,
    },
}

#[data]
struct Thing {
    id: String,
}

/// Fail by something below.
#[operation(query, name = "things.get", access(anyone))]
async fn get_thing(input: Thing) -> Outcome<u8, Caused> {
    let cause = std::io::Error::other("block 42 is unreadable");
    match input.id.as_str() {
        "busy" => Err(Caused::StoreBusy { cause })?,
        _ => Err(Caused::ThingMissing { id: input.id, cause })?,
    }
}

#[tokio::test(start_paused = true)]
async fn the_cause_of_a_declared_failure_is_in_the_log_once_at_the_default_level() {
    for (id, level, code) in [("busy", "WARN", "STORE_BUSY"), ("hunter2", "INFO", "THING_MISSING")] {
        let log = Log::start();
        let request = Request::new(json!({"id": id}).to_string().into_bytes()).with_request_id("req-9");
        built(Registry::builder().add(get_thing)).send("things.get", request).await;
        let lines = by_default(&log);
        let [line] = &lines[..] else { panic!("one line is written: {lines:?}") };
        assert_eq!(line.matches("block 42 is unreadable").count(), 1, "{line}");
        for part in [level, "request_id=req-9", "operation=things.get", &format!("code={code}")] {
            assert!(line.contains(part), "{part} is in {line}");
        }
        // The message is made of what the caller sent.
        assert!(!line.contains("hunter2"), "{line}");
    }
}

/// What the cause of a declared failure says.
struct Planted(&'static str);

/// Fail as declared, by something below that has a secret in its text.
#[operation(query, name = "files.read", access(anyone))]
async fn read_planted(State(planted): State<Planted>) -> Outcome<u8, Caused> {
    Err(Caused::StoreBusy { cause: std::io::Error::other(planted.0) })?
}

#[tokio::test(start_paused = true)]
async fn secrets_queries_and_values_of_databases_are_in_no_line_of_the_log() {
    let secret = redress::Secret::new("plain words");
    let texts = [
        "error sending request for url (https://api.example.com/v1/pay?key=hunter2)",
        "postgres://ada:hunter2@db.internal/shop is away",
        "Authorization: Bearer hunter2hunter2",
        "login failed: password=hunter2",
        "duplicate key value: Key (email)=(hunter2) already exists.",
        "invalid type: string \"hunter2\", expected u8",
        "the key is plain words today",
    ];
    for text in texts {
        let contained = ends(query("files.read"), move || Err(std::io::Error::other(text))?);
        let panics = ends(query("files.read"), move || panic!("{text}"));
        let declared = redress_core::IntoOperation::into_operation(read_planted);
        let judged = ends(query("files.read"), move || Err(redress::Fail::contain_as(Kind::Unavailable, text)));
        let as_data = query("files.read").fails(failure("STORE_BUSY", Kind::Unavailable));
        let as_data = ends(as_data, move || Err(DynamicFailure::new("STORE_BUSY", json!({})).caused_by(text))?);
        for operation in [contained, panics, declared, judged, as_data] {
            let log = Log::start();
            let credentials = redress::Credentials::new().with("api", secret.clone());
            let operation = operation.with_credentials(credentials);
            let harness = built(Registry::builder().state(Planted(text)).add(operation));
            harness.call("files.read", json!({})).await;
            let lines = log.lines().join("\n");
            assert!(lines.contains("[redacted]") || lines.contains('…'), "{lines}");
            assert!(!lines.contains("hunter2") && !lines.contains("plain words"), "{lines}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cause_of_any_length_makes_a_short_line() {
    let log = Log::start();
    let operation = ends(query("files.read"), || Err(std::io::Error::other("word ".repeat(100_000)))?);
    built(Registry::builder().add(operation)).call("files.read", json!({})).await;
    let lines = by_default(&log);
    assert!(lines.len() == 1 && lines[0].len() < 1500, "{}", lines.iter().map(String::len).sum::<usize>());
}

#[tokio::test(start_paused = true)]
async fn the_log_says_where_an_output_and_where_details_break_their_schema() {
    let rows = json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "string"}}}});
    let output = ends(query("files.output").with_output(rows.clone()), || Ok(json!({"rows": ["a", 7]})));
    let broken = failure("BROKEN", Kind::Conflict).with_details(rows);
    let details = fails(query("files.details").fails(broken), "BROKEN", json!({"rows": ["a", 7]}));
    let harness = built(Registry::builder().add(output).add(details));
    for (name, code) in [("files.output", "INVALID_OUTPUT"), ("files.details", "INTERNAL")] {
        let log = Log::start();
        let answer = harness.call(name, json!({})).await;
        assert_eq!(answer.code(), Some(code));
        assert!(!answer.json().to_string().contains("rows"), "{}", answer.json());
        let lines = by_default(&log);
        let found = lines.iter().find(|line| line.contains("pointer=/rows/1") && line.contains("rule=type"));
        assert!(found.is_some_and(|line| line.contains(&format!("operation={name}"))), "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_open_for_long_is_not_slow_and_one_that_is_long_to_open_is() {
    let watched = |open_ms: u64| {
        Operation::dynamic(subscription("feed.watch")).with_stream_handler(move |_, _| async move {
            tokio::time::sleep(Duration::from_millis(open_ms)).await;
            let item = async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(json!(1))
            };
            Ok(Events::new(futures_util::stream::once(item)))
        })
    };
    for (open_ms, warnings) in [(0, 0), (5_000, 1)] {
        let log = Log::start();
        let harness = built(Registry::builder().add(watched(open_ms)).slow(Duration::from_secs(1)));
        assert_eq!(harness.subscribe("feed.watch", json!({})).await.items::<u64>(), [1]);
        let warned = log.lines().into_iter().filter(|line| line.starts_with("WARN")).collect::<Vec<_>>();
        assert_eq!(warned.len(), warnings, "{warned:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_in_the_place_of_a_code_is_in_no_line_of_the_log() {
    // An exporter would send it.
    let log = Log::start();
    assert_failure!(
        built(Registry::builder().add(fails(query("files.read"), "password=hunter2", json!({}))))
            .call("files.read", json!({}))
            .await,
        INTERNAL
    );
    let lines = log.lines().join("\n");
    assert!(lines.contains("undeclared=no code at all") && !lines.contains("hunter2"), "{lines}");
}

/// A content guard that refuses all source.
struct RefusesAll;

impl redress::ContentGuard for RefusesAll {
    fn language(&self) -> &str {
        "toy"
    }

    fn check(&self, _: &str) -> Result<(), redress::Blocked> {
        Err(redress::Blocked::Unparsable)
    }
}

#[tokio::test(start_paused = true)]
async fn refused_source_is_in_the_log_by_the_hash_that_its_caller_has() {
    let log = Log::start();
    let declaration = crate::service::mutation("page.evaluate").with_eval("source", "toy").with_input(json!({
        "type": "object",
        "properties": {"source": {"type": "string"}},
        "required": ["source"],
        "additionalProperties": false,
    }));
    let operation = ends(declaration, || Ok(json!(null)));
    let harness = built(Registry::builder().content_guard(RefusesAll).add(operation));
    let request = Request::new(br#"{"source":"hunter2"}"#).with_request_id("req-9");
    let answer = harness.send("page.evaluate", request).await;
    let hash = answer.details()["code_hash"].as_str().unwrap().to_owned();
    let lines = by_default(&log);
    let [line] = &lines[..] else { panic!("one line is written: {lines:?}") };
    for part in ["request_id=req-9", "operation=page.evaluate", "code=EVAL_UNPARSABLE", &format!("code_hash={hash}")] {
        assert!(line.contains(part), "{part} is in {line}");
    }
    assert!(!log.lines().join("\n").contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn where_an_output_breaks_its_schema_is_in_the_log() {
    let log = Log::start();
    let declaration = query("orders.get").with_output(json!({
        "type": "object", "properties": {"total": {"type": "number"}},
    }));
    let operation = ends(declaration, || Ok(json!({"total": "hunter2"})));
    let request = Request::new(b"{}").with_request_id("req-10");
    let answer = built(Registry::builder().add(operation)).send("orders.get", request).await;
    assert_failure!(answer, INVALID_OUTPUT);
    let lines = by_default(&log);
    let [line] = &lines[..] else { panic!("one line is written: {lines:?}") };
    for part in ["ERROR", "request_id=req-10", "operation=orders.get", "output_pointer=/total", "rule=type"] {
        assert!(line.contains(part), "{part} is in {line}");
    }
    assert!(!log.lines().join("\n").contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn whoever_still_calls_a_deprecated_operation_is_in_the_log_once() {
    let log = Log::start();
    let deprecation = redress::contract::Deprecation {
        since: "1.4.0".into(),
        replaced_by: Some("orders.fetch".into()),
        ..Default::default()
    };
    let old = ends(query("orders.get").with_deprecated(deprecation), || Ok(json!(null)));
    let harness = built(Registry::builder().add(old).add(ends(query("orders.fetch"), || Ok(json!(null)))));
    for caller in ["ada", "ada", "bob"] {
        harness.as_caller(redress::Caller::new(caller)).call("orders.get", json!({})).await;
        harness.as_caller(redress::Caller::new(caller)).call("orders.fetch", json!({})).await;
    }
    let lines = by_default(&log);
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, caller) in lines.iter().zip(["caller=ada", "caller=bob"]) {
        for part in ["INFO", "operation=orders.get", "since=1.4.0", "orders.fetch", caller] {
            assert!(line.contains(part), "{part} is in {line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_still_calls_by_an_alias_is_in_the_log_once() {
    let log = Log::start();
    let renamed = ends(query("orders.fetch").with_alias("orders.get").with_alias("orders.read"), || Ok(json!(null)));
    let harness = built(Registry::builder().add(renamed));
    for caller in ["ada", "ada", "bob"] {
        let harness = harness.as_caller(Caller::new(caller));
        for name in ["orders.fetch", "orders/fetch", "orders.get", "/orders/get"] {
            assert_ok!(harness.call(name, json!({})).await);
        }
    }
    assert_ok!(harness.as_caller(Caller::new("ada")).call("orders.read", json!({})).await);
    let lines = by_default(&log);
    let told = [("ada", "orders.get"), ("bob", "orders.get"), ("ada", "orders.read")];
    assert_eq!(lines.len(), told.len(), "{lines:?}");
    for (line, (caller, alias)) in lines.iter().zip(told) {
        for part in ["INFO", "operation=orders.fetch", &format!("caller={caller}"), &format!("alias={alias}")] {
            assert!(line.contains(part), "{part} is in {line}");
        }
    }
}

/// Cannot tell who calls, since what knows them is away.
struct Away;

impl IdentityProvider for Away {
    fn identify<'a>(
        &'a self,
        _: &'a Secret,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        let away = std::io::Error::other("postgres://ada:hunter2@users.internal: connection refused");
        Box::pin(std::future::ready(Err(IdentityError::unavailable(away))))
    }
}

#[tokio::test(start_paused = true)]
async fn that_nobody_can_tell_who_calls_is_a_fault_and_blames_no_caller() {
    let watch = Watch::default();
    let operation = ends(query("files.read"), || Ok(json!(1)));
    let registry = crate::service::registry(Registry::builder().add(operation).identity(Away).observer(watch.clone()));
    let request = || Request::new(b"{}").with_request_id("req-12");
    let token = || Secret::new("as good as any");
    for by_face in [false, true] {
        let log = Log::start();
        // A face that has to know who asks before there is a call refuses in the same words.
        let envelope = if by_face {
            let error = registry.identify(&token()).await.unwrap_err();
            registry.refuse(Refusal::unidentified(error), request())
        } else {
            registry.call("files.read", request().with_token(token())).await
        };
        let problem = envelope.problem().unwrap();
        assert_eq!(
            (problem.code.as_str(), problem.http, problem.kind),
            ("UPSTREAM_UNREACHABLE", 502, Kind::Unavailable)
        );
        let advice = (problem.retryable, problem.retry, problem.effect, problem.retry_after_ms);
        assert_eq!(advice, (true, redress::Retry::Safe, redress::Effect::None, Some(1000)));
        assert_eq!(problem.error, "who calls cannot be told now");
        let seen = watch.seen().pop().unwrap();
        assert_eq!((seen.fault.as_deref(), seen.cause), (Some("contained"), Some(Kind::Unavailable)));
        let lines = by_default(&log);
        let [line] = &lines[..] else { panic!("one line is written: {lines:?}") };
        for part in ["ERROR", "request_id=req-12", "code=UPSTREAM_UNREACHABLE", "connection refused"] {
            assert!(line.contains(part), "{part} is in {line}");
        }
        let all = format!("{}{}", log.lines().join("\n"), String::from_utf8(envelope.to_bytes().to_vec()).unwrap());
        assert!(!all.contains("hunter2") && !all.contains("as good as any"), "{all}");
    }
}

#[cfg(feature = "serve")]
#[tokio::test(start_paused = true)]
async fn the_id_that_a_client_gave_its_request_is_in_the_log_beside_ours() {
    use axum::{body::Body, extract::Request as HttpRequest};
    use tower::ServiceExt as _;

    let long = format!("\"{}\"", "x".repeat(1100));
    let registry = crate::service::registry(Registry::builder().add(ends(query("files.read"), || Ok(json!(1)))));
    let faces = redress::serve::Faces::new(registry).router();
    for (path, method) in [("/rpc", "files.read"), ("/mcp", "tools/call")] {
        for (id, logged) in [
            ("7", Some("jsonrpc_id=7")),
            ("\"order-7\"", Some("jsonrpc_id=\"order-7\"")),
            // As JSON writes it, so that nothing in it ends a line.
            (r#""a\nb\u001b""#, Some(r#"jsonrpc_id="a\nb\u001b""#)),
            // Longer than any that is answered.
            (&long, None),
        ] {
            let log = Log::start();
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":"files_read","arguments":{{}}}}}}"#
            );
            let request = HttpRequest::post(path)
                .header("host", "localhost")
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream");
            let response = faces.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
            let request_id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
            let lines: Vec<String> = log.lines().into_iter().filter(|line| line.contains("jsonrpc_id=")).collect();
            match logged {
                Some(logged) => {
                    let [line] = &lines[..] else { panic!("one line is written: {path} {id} {lines:?}") };
                    let ours = format!("request_id={request_id}");
                    assert!(line.starts_with("DEBUG") && line.contains(logged) && line.contains(&ours), "{line}");
                    assert!(!line.chars().any(char::is_control), "{line:?}");
                }
                None => assert!(!log.lines().join("").contains("xxxx"), "{path}: {lines:?}"),
            }
        }
    }
}
