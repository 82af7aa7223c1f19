//! The trace that a call belongs to.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use futures_util::{SinkExt as _, StreamExt as _};
use redress_core::{
    Operation, Registry,
    contract::{self, Access},
};
use redress_serve::Faces;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::service::Running;

/// Remembers every span, and for each event the spans around it.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Spans>>);

#[derive(Default)]
struct Spans {
    made: Vec<String>,
    entered: Vec<usize>,
    around_events: Vec<String>,
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Seen {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut text = Text(attributes.metadata().name().to_owned());
        attributes.record(&mut text);
        let mut spans = self.0.lock().unwrap();
        spans.made.push(text.0);
        Id::from_u64(spans.made.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != "the_handler" {
            return;
        }
        let mut spans = self.0.lock().unwrap();
        let around: Vec<&str> = spans.entered.iter().map(|place| spans.made[*place].as_str()).collect();
        let around = around.join(" > ");
        spans.around_events.push(around);
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64() as usize - 1);
    }

    fn exit(&self, span: &Id) {
        let place = span.into_u64() as usize - 1;
        let mut spans = self.0.lock().unwrap();
        let at = spans.entered.iter().rposition(|entered| *entered == place).unwrap();
        spans.entered.remove(at);
    }
}

/// A service of one operation that says where it runs.
async fn service() -> Running {
    let told = contract::OperationDeclaration::query("demo.told").with_summary("Logs.").with_access(Access::anyone());
    let told = Operation::dynamic(told).with_handler(|_, _| async {
        tracing::info!(target: "the_handler", "here");
        Ok(json!(null))
    });
    let registry = Registry::builder().add(told).build().unwrap();
    Running::of(Faces::new(registry), Default::default(), Default::default()).await
}

impl Seen {
    /// Forgets what came so far.
    ///
    /// Whether anyone listens to a span is decided where it is first made, by the thread that makes it.
    /// That may be a thread of another test, where nobody listens: once all spans were made, it is asked anew here.
    fn anew(&self) {
        tracing::callsite::rebuild_interest_cache();
        self.0.lock().unwrap().around_events.clear();
    }

    /// The spans around the one event that came.
    #[track_caller]
    fn around(&self) -> String {
        let events = std::mem::take(&mut self.0.lock().unwrap().around_events);
        let [around] = &events[..] else { panic!("{events:?}") };
        around.clone()
    }
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OF_CALL: &str = "00f067aa0ba902b7";
const OF_CONNECTION: &str = "b7ad6b7169203331";

fn parent(span: &str) -> String {
    format!("00-{TRACE}-{span}-01")
}

/// Whether the innermost span that names a caller's is of this sort, and names this one.
#[track_caller]
fn assert_within(around: &str, sort: &str, span: &str) {
    let named = around.split(" > ").filter(|span| span.contains("parent_span_id")).last().unwrap_or_default();
    let wanted = format!(r#"{sort} trace_id="{TRACE}" parent_span_id="{span}" sampled=true"#);
    assert!(named.starts_with(&wanted), "{around}");
}

#[tokio::test]
async fn a_call_runs_inside_the_trace_of_its_caller_and_a_malformed_one_is_as_if_absent() {
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.clone());
    let running = service().await;
    let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    running.post_with("/ops/demo/told", "{}", &[("traceparent", good)]).await;
    seen.anew();
    let bad = [
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "x",
    ];
    for traceparent in [good].into_iter().chain(bad) {
        let answer = running.post_with("/ops/demo/told", "{}", &[("traceparent", traceparent)]).await;
        assert_eq!(answer.status, 200, "{traceparent}");
    }
    let spans = seen.0.lock().unwrap();
    let within = |around: &String| around.contains("redress.http");
    assert_eq!(spans.around_events.iter().map(within).collect::<Vec<_>>(), [true, false, false, false, false, false]);
    let first = &spans.around_events[0];
    assert!(
        first.contains(r#"trace_id="4bf92f3577b34da6a3ce929d0e0e4736" parent_span_id="00f067aa0ba902b7""#),
        "{first}"
    );
    assert!(first.contains("sampled=true > redress.call request_id="), "{first}");
}

#[tokio::test]
async fn a_call_on_a_websocket_belongs_to_its_own_trace_or_to_that_of_the_connection() {
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.clone());
    let running = service().await;
    let connect = async |trace: Option<String>| {
        let mut request = format!("ws://{}/ws", running.address).into_client_request().unwrap();
        if let Some(trace) = trace {
            request.headers_mut().insert("traceparent", trace.parse().unwrap());
        }
        connect_async(request).await.unwrap().0
    };
    let call = async |socket: &mut WebSocketStream<MaybeTlsStream<TcpStream>>, trace: Value| {
        let payload =
            json!({"operation": "demo.told", "input": {}, "traceparent": trace, "tracestate": "vendor=opaque"});
        let message = json!({"type": "call.requested", "id": "1", "payload": payload}).to_string();
        socket.send(Message::text(message)).await.unwrap();
        let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
        assert!(answer.contains("call.responded"), "{answer}");
    };
    let (mut traced, mut plain) = (connect(Some(parent(OF_CONNECTION))).await, connect(None).await);
    call(&mut traced, json!(parent(OF_CALL))).await;
    call(&mut traced, json!(null)).await;
    seen.anew();
    call(&mut plain, json!(parent(OF_CALL))).await;
    let around = seen.around();
    assert_within(&around, "redress.websocket", OF_CALL);
    assert!(around.contains("tracestate=\"vendor=opaque\""), "{around}");
    call(&mut traced, json!(parent(OF_CALL))).await;
    assert_within(&seen.around(), "redress.websocket", OF_CALL);
    for unreadable in [json!(null), json!(7), json!("00-x")] {
        call(&mut traced, unreadable.clone()).await;
        assert_within(&seen.around(), "redress.websocket", OF_CONNECTION);
        call(&mut plain, unreadable).await;
        assert!(!seen.around().contains("redress.websocket"));
    }
}

#[tokio::test]
async fn a_request_by_mcp_belongs_to_the_trace_that_it_names_or_to_that_of_its_headers_on_every_way() {
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.clone());
    let running = service().await;
    let post = async |session: &str, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let of_connection = parent(OF_CONNECTION);
        let mut headers = vec![("accept", "application/json, text/event-stream"), ("traceparent", &of_connection)];
        headers.extend((!session.is_empty()).then_some(("mcp-session-id", session)));
        running.post_with("/mcp", &body, &headers).await
    };
    let initialize = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let opened = post("", "initialize", initialize).await;
    let session = opened.header("mcp-session-id");
    assert!(!session.is_empty(), "{opened:?}");
    // On its own, by the library since progress is wanted, and in a session.
    let ways = [("", json!({})), ("", json!({"progressToken": 1})), (session, json!({}))];
    for warm in [true, false] {
        for (session, meta) in &ways {
            for (named, sort, span) in [
                (json!(parent(OF_CALL)), "redress.mcp", OF_CALL),
                (json!(null), "redress.http", OF_CONNECTION),
                (json!({"not": "text"}), "redress.http", OF_CONNECTION),
            ] {
                let mut meta = meta.clone();
                meta["traceparent"] = named;
                let answer =
                    post(session, "tools/call", json!({"name": "demo_told", "arguments": {}, "_meta": meta})).await;
                assert_eq!(answer.status, 200, "{answer:?}");
                if !warm {
                    assert_within(&seen.around(), sort, span);
                }
            }
        }
        seen.anew();
    }
}
