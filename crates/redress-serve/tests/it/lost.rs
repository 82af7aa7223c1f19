//! What becomes of an answer on whose way something panics that has no part in it: a subscriber of the log, or the program's
//! own word on who calls. On every face there is an outcome, and the log says what happened under the request id.

use std::{
    fmt::{Debug, Write as _},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _, stream};
use redress_core::{
    Events, Fail, Operation, Registry,
    contract::{self, Access, Caller},
};
use redress_serve::{CallerOf, Connection, Faces};
use serde_json::{Value, json};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};

use crate::service::Running;

const SOON: Duration = Duration::from_secs(20);
const TRACE: (&str, &str) = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// Where a subscriber panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hook {
    NewSpan,
    Enter,
    Exit,
    Record,
    Close,
    Event,
    Nowhere,
}

/// A subscriber that panics in one place, and remembers the errors that it is told.
#[derive(Clone)]
struct Panics {
    at: Hook,
    times: Arc<AtomicUsize>,
    errors: Arc<Mutex<Vec<String>>>,
}

impl Panics {
    fn at(at: Hook) -> Panics {
        Panics { at, times: Arc::default(), errors: Arc::default() }
    }

    fn reached(&self, hook: Hook) {
        if self.at == hook {
            self.times.fetch_add(1, Ordering::SeqCst);
            // Without the hook of panics, which would write thousands of lines.
            std::panic::resume_unwind(Box::new("the log is broken"));
        }
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("redress") && *metadata.level() <= Level::INFO
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.reached(Hook::NewSpan);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        self.reached(Hook::Record);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() == Level::ERROR {
            let mut fields = Fields(String::new());
            event.record(&mut fields);
            self.errors.lock().unwrap().push(fields.0);
        }
        self.reached(Hook::Event);
    }

    fn enter(&self, _: &Id) {
        self.reached(Hook::Enter);
    }

    fn exit(&self, _: &Id) {
        self.reached(Hook::Exit);
    }

    fn try_close(&self, _: Id) -> bool {
        self.reached(Hook::Close);
        true
    }
}

/// A caller that is told by the program, which panics where the message says so: at once, or from the second time on.
#[derive(Default)]
struct Breaks(AtomicUsize);

impl CallerOf for Breaks {
    fn caller_of(&self, connection: Connection<'_>) -> Option<Arc<Caller>> {
        let breaks = connection.headers.get("x-breaks").map(|when| when.to_str().unwrap());
        let later = breaks == Some("later") && self.0.fetch_add(1, Ordering::SeqCst) > 0;
        if breaks == Some("now") || later {
            std::panic::resume_unwind(Box::new("nobody foresaw this"));
        }
        None
    }
}

async fn service() -> Running {
    let anyone =
        |declaration: contract::OperationDeclaration| declaration.with_summary("It.").with_access(Access::anyone());
    let large = Operation::dynamic(anyone(contract::OperationDeclaration::query("demo.large")))
        .with_handler(|_, _| async { Ok(json!("x".repeat(100_000))) });
    let fault = Operation::dynamic(anyone(contract::OperationDeclaration::query("demo.fault")))
        .with_handler(|_, _| async { Err(Fail::contain("it cannot be opened")) });
    let then = json!({"type": "object", "properties": {"then": {"type": "string"}}});
    let count = anyone(contract::OperationDeclaration::subscription("demo.count").with_input(then));
    let count = Operation::dynamic(count).with_stream_handler(|_, input| async move {
        let items = stream::iter([Ok(json!(1)), Ok(json!(2))]);
        Ok(match input["then"].as_str() {
            Some(_) => Events::new(items.chain(stream::once(async { Err(Fail::contain("it cannot be opened")) }))),
            None => Events::new(items),
        })
    });
    let registry = [large, fault, count].into_iter().fold(Registry::builder(), |all, one| all.add(one));
    let faces = Faces::new(registry.build().unwrap()).caller(Breaks::default());
    Running::of(faces, Default::default(), Default::default()).await
}

/// A call of `operation` on every face of one message and answer, and how many outcomes there have to be.
fn calls(operation: &str) -> Vec<(String, Value, usize)> {
    let call = json!({"operation": operation, "input": {}});
    let rpc = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": operation, "params": {}});
    let tool = |meta: Value| {
        let params = json!({"name": operation.replace('.', "_"), "arguments": {}, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    };
    vec![
        (format!("/ops/{}", operation.replace('.', "/")), json!({}), 1),
        ("/call".to_owned(), call.clone(), 1),
        ("/batch".to_owned(), json!(vec![&call; 5]), 5),
        ("/rpc".to_owned(), rpc(1), 1),
        ("/rpc".to_owned(), (1..=5).map(rpc).collect(), 5),
        ("/mcp".to_owned(), tool(json!({})), 1),
        ("/mcp".to_owned(), tool(json!({"progressToken": 1})), 1),
    ]
}

/// The last messages of a call and of a stream over a WebSocket.
async fn over_web_socket(running: &Running, operation: &str, input: Value, breaks: &str) -> String {
    let mut request = format!("ws://{}/ws", running.address).into_client_request().unwrap();
    request.headers_mut().insert(TRACE.0, TRACE.1.parse().unwrap());
    if !breaks.is_empty() {
        request.headers_mut().insert("x-breaks", breaks.parse().unwrap());
    }
    let mut socket = connect_async(request).await.unwrap().0;
    let payload = json!({"operation": operation, "input": input, "request_id": "mine-1"});
    let message = json!({"type": "call.requested", "id": "1", "payload": payload}).to_string();
    socket.send(Message::text(message)).await.unwrap();
    loop {
        let next = tokio::time::timeout(SOON, socket.next()).await.expect("the call has an end");
        let text = next.unwrap().unwrap().into_text().unwrap().to_string();
        let item = operation == "demo.count" && text.contains("call.responded");
        if !item {
            return text;
        }
    }
}

#[tokio::test]
async fn a_subscriber_that_panics_at_a_span_changes_no_answer() {
    for at in [Hook::NewSpan, Hook::Enter, Hook::Exit, Hook::Record, Hook::Close] {
        let panics = Panics::at(at);
        let _guard = tracing::subscriber::set_default(panics.clone());
        tracing::callsite::rebuild_interest_cache();
        let running = service().await;
        for (path, body, outcomes) in calls("demo.large") {
            let answer = running.post_with(&path, &body.to_string(), &[TRACE, ACCEPT]).await;
            let whole = answer.text.matches(&"x".repeat(100_000)).count();
            // MCP has an output twice: as text and as what it is.
            let copies = if path == "/mcp" { 2 } else { 1 };
            assert!(answer.status == 200 && whole >= outcomes && whole <= outcomes * copies, "{at:?} {path}: {whole}");
        }
        let stream = running.post_with("/ops/demo/count", "{}", &[TRACE, ACCEPT]).await;
        let events = stream.events();
        assert!(events.len() == 3 && events[2].0 == "end", "{at:?}: {events:?}");
        let told = over_web_socket(&running, "demo.large", json!({}), "").await;
        assert!(told.contains("call.responded") && told.len() > 100_000, "{at:?}");
        let told = over_web_socket(&running, "demo.count", json!({}), "").await;
        assert!(told.contains("call.completed"), "{at:?}: {told}");
        assert!(panics.times.load(Ordering::SeqCst) > 10, "{at:?}: nothing panicked");
    }
}

#[tokio::test]
async fn a_subscriber_that_panics_at_an_event_leaves_every_call_its_outcome() {
    let panics = Panics::at(Hook::Event);
    let _guard = tracing::subscriber::set_default(panics.clone());
    tracing::callsite::rebuild_interest_cache();
    let running = service().await;
    for (path, body, outcomes) in calls("demo.fault") {
        let answer = running.post_with(&path, &body.to_string(), &[TRACE, ACCEPT]).await;
        let told = answer.text.matches("/errors/INTERNAL").count();
        assert!(told >= outcomes, "{path}: {} {}", answer.status, answer.text);
        if outcomes > 1 {
            assert_eq!(answer.json().as_array().unwrap().len(), outcomes, "{path}");
        }
    }
    let stream = running.post_with("/ops/demo/count", r#"{"then":"fault"}"#, &[TRACE, ACCEPT]).await;
    let events = stream.events();
    assert!(events.len() == 3 && events[2].0 == "error" && events[2].2["code"] == "INTERNAL", "{events:?}");
    let told = over_web_socket(&running, "demo.fault", json!({}), "").await;
    assert!(told.contains("call.error") && told.contains("INTERNAL"), "{told}");
    let told = over_web_socket(&running, "demo.count", json!({"then": "fault"}), "").await;
    assert!(told.contains("call.error") && told.contains("INTERNAL"), "{told}");
    assert!(panics.times.load(Ordering::SeqCst) > 10, "nothing panicked");
}

#[tokio::test]
async fn a_message_on_whose_way_the_program_panics_is_answered_and_logged_under_its_id() {
    let seen = Panics::at(Hook::Nowhere);
    let _guard = tracing::subscriber::set_default(seen.clone());
    tracing::callsite::rebuild_interest_cache();
    let running = service().await;
    let logged = |id: &str| {
        let errors = std::mem::take(&mut *seen.errors.lock().unwrap());
        assert!(errors.iter().any(|error| error.contains(id) && error.contains("nobody foresaw")), "{id}: {errors:?}");
    };
    for (path, body, _) in calls("demo.large").into_iter().chain([("/subscribe".to_owned(), json!({}), 1)]) {
        let headers = [ACCEPT, ("x-breaks", "now"), ("x-request-id", "mine-1")];
        let answer = running.post_with(&path, &body.to_string(), &headers).await;
        assert!(answer.status == 500 && answer.text.contains("INTERNAL"), "{path}: {answer:?}");
        assert!(answer.text.contains("mine-1"), "{path}: {answer:?}");
        logged("mine-1");
    }
    let told = over_web_socket(&running, "demo.large", json!({}), "later").await;
    assert!(told.contains("call.error") && told.contains("INTERNAL") && told.contains("mine-1"), "{told}");
    logged("mine-1");
    // Nothing else has changed.
    let answer = running.post("/ops/demo/large", "{}").await;
    assert_eq!(answer.status, 200);
}
