//! A service with one of everything, on a socket of its own.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use redress_core::{
    DynamicFailure, Events, Fail, Limit, Limited, LimitedCall, Operation, Permit, Registry,
    contract::{self, Access, Caller, Effect, FailureDeclaration, Kind, Overflow, Recovery, Streaming},
    testing::Canary,
};
use redress_serve::Faces;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// A running service.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) client: reqwest::Client,
    pub(crate) canary: Canary,
    pub(crate) watched: Arc<Watched>,
    pub(crate) stop: CancellationToken,
    pub(crate) server: JoinHandle<Result<(), redress_serve::ServeError>>,
}

/// What the handlers that wait let a test see.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) started: Notify,
    pub(crate) release: Notify,
    pub(crate) dropped: Notify,
    pub(crate) runs: AtomicUsize,
}

/// Tells when it is dropped.
pub(crate) struct Dropped(pub(crate) Arc<Watched>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.notify_one();
    }
}

struct Closed;

impl Limit for Closed {
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        match call.operation.name().as_str() {
            "demo.limited" => Err(Limited::rate(1500)),
            _ => Ok(None),
        }
    }
}

fn greet_input() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "times": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["name"],
        "additionalProperties": false,
    })
}

pub(crate) fn registry(canary: &Canary, watched: &Arc<Watched>) -> Registry {
    let declare = |operation: contract::OperationDeclaration| {
        operation.with_summary("One of everything.").with_access(Access::anyone())
    };
    let greet =
        Operation::dynamic(declare(contract::OperationDeclaration::query("demo.greet").with_input(greet_input())))
            .with_handler(|_, input| async move {
                Ok(json!({"message": format!("hello {}", input["name"].as_str().unwrap_or_default())}))
            });
    let missing = FailureDeclaration::new("THING_MISSING", Kind::NotFound)
        .with_when("There is no such thing.")
        .with_message("no thing {id}")
        .with_effect(Effect::None)
        .with_details(json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}))
        .with_recovery(Recovery::stop("Nothing else can be done here."));
    let find = Operation::dynamic(declare(contract::OperationDeclaration::query("demo.find").fails(missing.clone())))
        .with_handler(|_, _| async { Err(DynamicFailure::new("THING_MISSING", json!({"id": 7})))? });
    let secret = canary.plant("the cause of a contained error");
    let fault =
        Operation::dynamic(declare(contract::OperationDeclaration::query("demo.fault"))).with_handler(move |_, _| {
            let text = format!("cannot open {secret}");
            async move { Err(Fail::contain(text)) }
        });
    let text = canary.plant("a panic");
    let panics =
        Operation::dynamic(declare(contract::OperationDeclaration::query("demo.panic"))).with_handler(move |_, _| {
            let text = text.clone();
            async move { panic!("{text}") }
        });
    let undeclared = canary.plant("the details of an undeclared failure");
    let undeclared = Operation::dynamic(declare(contract::OperationDeclaration::query("demo.undeclared")))
        .with_handler(move |_, _| {
            let failure = DynamicFailure::new("NOT_DECLARED", json!({"secret": undeclared}));
            async move { Err(failure)? }
        });
    let slow = Operation::dynamic(declare(
        contract::OperationDeclaration::query("demo.slow").with_deadline(Duration::from_millis(30)),
    ))
    .with_handler(|_, _| std::future::pending());
    let seen = Arc::clone(watched);
    let wait =
        Operation::dynamic(declare(contract::OperationDeclaration::mutation("demo.wait"))).with_handler(move |_, _| {
            let seen = Arc::clone(&seen);
            async move {
                let _dropped = Dropped(Arc::clone(&seen));
                seen.started.notify_one();
                seen.release.notified().await;
                Ok(json!("released"))
            }
        });
    let seen = Arc::clone(watched);
    let once =
        Operation::dynamic(declare(contract::OperationDeclaration::mutation("demo.once").with_idempotency_key()))
            .with_handler(move |_, _| {
                let run = seen.runs.fetch_add(1, Ordering::SeqCst);
                async move { Ok(json!({"run": run})) }
            });
    let limited = Operation::dynamic(declare(contract::OperationDeclaration::query("demo.limited")))
        .with_handler(|_, _| async { Ok(json!(null)) });
    let closed = contract::OperationDeclaration::query("demo.closed")
        .with_summary("Needs a caller.")
        .with_access(Access::caller());
    let closed =
        Operation::dynamic(closed).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let hidden = contract::OperationDeclaration::query("demo.hidden").with_summary("Hidden.").internal();
    let hidden = Operation::dynamic(hidden).with_handler(|_, _| async { Ok(json!("hidden")) });
    let streaming = Streaming { resumable: true, overflow: Overflow::Wait(1000), ..Streaming::default() };
    let count = contract::OperationDeclaration::subscription("demo.count")
        .with_streaming(streaming)
        .fails(missing)
        .with_input(json!({
            "type": "object",
            "properties": {"to": {"type": "integer"}, "then": {"type": "string"}},
        }));
    let count = Operation::dynamic(declare(count)).with_stream_handler(|ctx, input| async move {
        let from: i64 = ctx.last_event_id().and_then(|id| id.parse().ok()).unwrap_or(0);
        let to = input["to"].as_i64().unwrap_or(3);
        let then = input["then"].as_str().unwrap_or("end").to_owned();
        let items = stream::iter((from + 1..=to).map(|n| Ok(json!(n))));
        Ok(match then.as_str() {
            "fail" => Events::new(items.chain(stream::once(async {
                Err(Fail::from(DynamicFailure::new("THING_MISSING", json!({"id": 7}))))
            }))),
            "hang" => Events::new(items.chain(stream::pending())),
            _ => Events::new(items),
        })
    });
    let builder = Registry::builder().limit(Closed).max_input(64 * 1024);
    let all = [greet, find, fault, panics, undeclared, slow, wait, once, limited, closed, hidden, count];
    all.into_iter()
        .chain(redress_serve::discovery())
        .fold(builder, |builder, operation| builder.add(operation))
        .build()
        .unwrap()
}

impl Running {
    pub(crate) async fn start() -> Running {
        Running::with(|faces| faces).await
    }

    pub(crate) async fn with(change: impl FnOnce(Faces) -> Faces) -> Running {
        let canary = Canary::new();
        let watched = Arc::new(Watched::default());
        let faces = change(Faces::new(registry(&canary, &watched)).title("demo").version("1.0.0"));
        Running::of(faces, canary, watched).await
    }

    pub(crate) async fn of(faces: Faces, canary: Canary, watched: Arc<Watched>) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let server = tokio::spawn(faces.serve(listener, stop.clone().cancelled_owned()));
        Running { address, client: reqwest::Client::new(), canary, watched, stop, server }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self, self.client.get(self.url(path))).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.post_with(path, body, &[]).await
    }

    pub(crate) async fn post_with(&self, path: &str, body: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.client.post(self.url(path)).body(body.to_owned());
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/json");
        }
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        Answer::of(self, request).await
    }
}

/// An answer, every byte of which the canary has seen.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn of(running: &Running, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        running.canary.check("a face", format!("{headers:?}{text}"));
        Answer { status, headers, text }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// The events of a stream: name, id and data.
    pub(crate) fn events(&self) -> Vec<(String, String, Value)> {
        self.text.split("\n\n").filter_map(event).collect()
    }
}

/// One event: name, id and data.
pub(crate) fn event(block: &str) -> Option<(String, String, Value)> {
    let field = |name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default().to_owned()
    };
    let data = serde_json::from_str(&field("data")).ok()?;
    Some((field("event"), field("id"), data))
}
