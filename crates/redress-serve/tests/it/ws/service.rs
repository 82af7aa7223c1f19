//! A live server with small operations, and a client for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _, stream};
use redress_contract::{self as contract, Access, FailureDeclaration, Kind, Recovery, Streaming};
use redress_core::{Builder, DynamicFailure, Events, Operation, Outcome, Registry};
use redress_serve::{
    Faces,
    ws::{Peer, PeerError, Peers, WebSocketLimits, WebSocketLoad},
};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::JoinHandle,
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

type Item = Outcome<Value, DynamicFailure>;

/// What the operations of a server did.
#[derive(Clone, Default)]
pub(crate) struct Marks {
    /// Handlers and sources without an end of their own that began.
    begun: Arc<AtomicUsize>,
    /// Those of them that were dropped.
    dropped: Arc<AtomicUsize>,
    /// Items that sources made.
    pub(crate) made: Arc<AtomicUsize>,
    /// `feed.gated` gives an item for each permit.
    pub(crate) gate: Arc<Gate>,
}

/// A semaphore that starts empty.
pub(crate) struct Gate(pub(crate) Semaphore);

impl Default for Gate {
    fn default() -> Gate {
        Gate(Semaphore::new(0))
    }
}

struct OnDrop(Arc<AtomicUsize>);

impl Marks {
    fn begin(&self) -> OnDrop {
        self.begun.fetch_add(1, Ordering::SeqCst);
        OnDrop(Arc::clone(&self.dropped))
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) peers: Peers,
    pub(crate) marks: Marks,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(limits: WebSocketLimits) -> Server {
        Server::start_with(limits, |builder| builder).await
    }

    pub(crate) async fn start_with(limits: WebSocketLimits, more: impl FnOnce(Builder) -> Builder) -> Server {
        Server::start_for(limits, Duration::from_secs(5), more).await
    }

    /// A server whose running calls have `grace` to end when it stops.
    pub(crate) async fn start_for(
        limits: WebSocketLimits,
        grace: Duration,
        more: impl FnOnce(Builder) -> Builder,
    ) -> Server {
        let (peers, marks) = (Peers::new(), Marks::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/ws", listener.local_addr().unwrap());
        let registry = more(operations(&marks, &peers)).build().unwrap_or_else(|error| panic!("{error}"));
        let faces = Faces::new(registry).ws_limits(limits).ws_peers(peers.clone()).grace(grace);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            faces.serve(listener, async { drop(stopped.await) }).await.unwrap();
        });
        Server { url, peers, marks, stop: Some(stop), running }
    }

    pub(crate) async fn connect(&self) -> Client {
        let (socket, _) = connect_async(&self.url).await.unwrap();
        Client { socket }
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&mut self) {
        self.stop.take();
    }

    pub(crate) async fn stopped(self) {
        tokio::time::timeout(Duration::from_secs(10), self.running).await.unwrap().unwrap();
    }

    /// The only connection there is.
    pub(crate) async fn peer(&self) -> Peer {
        until(|| !self.peers.all().is_empty()).await;
        self.peers.all().remove(0)
    }

    pub(crate) async fn load(&self) -> WebSocketLoad {
        self.peer().await.load()
    }

    /// Whether nothing runs that has no end of its own.
    pub(crate) fn all_dropped(&self) -> bool {
        self.begun() == self.dropped()
    }

    /// How many handlers and sources without an end of their own began. A call that is taken has not yet begun, and
    /// one that ends before that is never dropped.
    pub(crate) fn begun(&self) -> usize {
        self.marks.begun.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.marks.dropped.load(Ordering::SeqCst)
    }
}

/// Waits until something holds that another task brings about.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it does not come to hold");
}

pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Client {
    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        self.socket.send(Message::text(text.into())).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, id: &str, operation: &str, input: Value) {
        self.send(requested(id, operation, input)).await;
    }

    pub(crate) async fn abort(&mut self, id: &str) {
        self.send(json!({"type": "call.aborted", "id": id, "payload": {}})).await;
    }

    /// The next message of any sort that is not a ping or a pong.
    pub(crate) async fn raw(&mut self) -> Message {
        loop {
            let read = tokio::time::timeout(Duration::from_secs(20), self.socket.next()).await;
            let message = read.expect("a message comes in time").expect("the connection is open").unwrap();
            if !(message.is_ping() || message.is_pong()) {
                return message;
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        let message = self.raw().await;
        serde_json::from_slice(&message.clone().into_data()).unwrap_or_else(|_| panic!("not JSON: {message:?}"))
    }

    /// Makes one call and gives what comes back.
    pub(crate) async fn call(&mut self, operation: &str, input: Value) -> Value {
        self.ask("one", operation, input).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], "one");
        answer
    }

    /// The code with which the connection is closed, whatever comes before.
    pub(crate) async fn close_code(&mut self) -> u16 {
        loop {
            if let Message::Close(frame) = self.raw().await {
                return frame.map_or(1005, |frame| frame.code.into());
            }
        }
    }
}

pub(crate) fn requested(id: &str, operation: &str, input: Value) -> Value {
    json!({"type": "call.requested", "id": id, "payload": {"operation": operation, "input": input}})
}

fn open(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    operation
        .with_summary("Serve a test.")
        .with_access(Access::anyone())
        .with_input(json!({"type": "object"}))
        .with_deadline(Duration::from_secs(60))
}

fn failure(code: &str, kind: Kind) -> FailureDeclaration {
    FailureDeclaration::new(code, kind)
        .with_when("It happens in a test.")
        .with_details(json!({"type": "object"}))
        .with_recovery(Recovery::stop("There is nothing left to try here."))
}

pub(crate) fn code_of(kind: Kind) -> String {
    format!("TEST_{}", kind.as_str().to_uppercase())
}

fn source<S>(name: &str, make: impl Fn(Value) -> S + Send + Sync + 'static) -> Operation
where
    S: stream::Stream<Item = Item> + Send + 'static,
{
    let declaration = open(contract::OperationDeclaration::subscription(name))
        .with_streaming(Streaming { resumable: true, ..Streaming::default() })
        .fails(failure("FEED_BROKEN", Kind::Unavailable));
    Operation::dynamic(declaration).with_stream_handler(move |_, input| {
        let events = Events::new(make(input));
        async move { Ok(events) }
    })
}

fn operations(marks: &Marks, peers: &Peers) -> Builder {
    let double = open(contract::OperationDeclaration::query("math.double")).with_input(
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}),
    );
    let double = Operation::dynamic(double)
        .with_handler(|_, input: Value| async move { Ok(json!(input["n"].as_i64().unwrap_or(0) * 2)) });
    let fails =
        Kind::ALL.into_iter().fold(open(contract::OperationDeclaration::query("test.fail")), |operation, kind| {
            operation.fails(failure(&code_of(kind), kind))
        });
    let fails = Operation::dynamic(fails).with_handler(|_, input: Value| async move {
        Err(DynamicFailure::new(input["code"].as_str().unwrap_or_default(), json!({"seen": true})))?
    });
    let never = |name: &str, deadline| {
        let marks = marks.clone();
        Operation::dynamic(
            open(contract::OperationDeclaration::query(name)).with_deadline(Duration::from_millis(deadline)),
        )
        .with_handler(move |_, _| {
            let guard = marks.begin();
            async move {
                let _guard = guard;
                std::future::pending::<Outcome<Value, DynamicFailure>>().await
            }
        })
    };
    let panics = Operation::dynamic(open(contract::OperationDeclaration::query("test.panic"))).with_handler(
        |_, input: Value| async move { if input.is_object() { panic!("CANARY-7f3a") } else { Ok(json!(null)) } },
    );
    let gate = Arc::clone(&marks.gate);
    let waits =
        Operation::dynamic(open(contract::OperationDeclaration::query("test.wait"))).with_handler(move |_, _| {
            let gate = Arc::clone(&gate);
            async move {
                gate.0.acquire().await.unwrap().forget();
                Ok(json!("waited"))
            }
        });
    let table = peers.clone();
    let asks = open(contract::OperationDeclaration::query("test.ask")).fails(failure("PEER_FAILED", Kind::Unavailable));
    let asks = Operation::dynamic(asks).with_handler(move |ctx, input: Value| {
        let peer = ctx.session_id().and_then(|session| table.of(session)).expect("the call came over a connection");
        async move {
            let within = Duration::from_millis(input["within_ms"].as_u64().unwrap_or(10_000));
            let answer = peer.call_within(within, "client.add", &input).await;
            let why = match answer {
                Ok(output) => return Ok(serde_json::from_str(output.get()).unwrap()),
                Err(PeerError::Failed(failure)) => failure.code,
                Err(error) => format!("{error:?}"),
            };
            Err(DynamicFailure::new("PEER_FAILED", json!({"why": why})))?
        }
    });
    let endless_marks = marks.clone();
    let endless = source("feed.endless", move |_| {
        let (made, guard) = (Arc::clone(&endless_marks.made), endless_marks.begin());
        let text = "x".repeat(1000);
        stream::repeat_with(move || {
            let _guard = &guard;
            Ok(json!({"n": made.fetch_add(1, Ordering::SeqCst), "text": text}))
        })
    });
    let gate = Arc::clone(&marks.gate);
    let gated = source("feed.gated", move |_| {
        stream::unfold((Arc::clone(&gate), 0), |(gate, n)| async move {
            gate.0.acquire().await.unwrap().forget();
            Some((Ok(json!(n)), (gate, n + 1)))
        })
    });
    let count =
        source("feed.count", |input| stream::iter((0..input["count"].as_u64().unwrap_or(0)).map(|n| Ok(json!(n)))));
    let breaks = source("feed.breaks", |_| {
        let broken = || -> Item { Err(DynamicFailure::new("FEED_BROKEN", json!({"at": 3})))? };
        stream::iter([Ok(json!(0)), Ok(json!(1)), Ok(json!(2)), broken(), Ok(json!(4))])
    });
    let builder =
        Registry::builder().add(double).add(fails).add(never("test.never", 60_000)).add(never("test.late", 50));
    builder.add(panics).add(waits).add(asks).add(endless).add(gated).add(count).add(breaks)
}
