//! The faces, in this process: what goes in comes by no socket, and time passes only where everything waits.

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    rc::Rc,
    time::Duration,
};

use axum::{Router, body::Body, extract::ConnectInfo, http::HeaderMap};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use redress::{Registry, serve::Faces};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

use crate::{operations, work};

/// How many runs share a service, so that what it remembers (keys, sessions) stays small.
const RUNS: usize = 10_000;
/// The most bytes of an answer that are looked at; a stream that never ends is cut off here or by the clock.
const MAX: usize = 8 * 1024 * 1024;
/// How long an answer may take, on a clock that leaps when everything waits.
const MAX_LENGTH: Duration = Duration::from_secs(90);

/// Where the pages are loaded from that may call.
pub(crate) const ORIGIN: &str = "https://app.example";

/// The faces of one registry, with and without tokens.
pub(crate) struct Service {
    pub(crate) registry: Registry,
    pub(crate) router: Router,
    pub(crate) guarded: Router,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Service {
    fn new() -> Service {
        let registry = operations::registry(false);
        let router = Faces::new(registry.clone()).router();
        let guarded = Faces::new(operations::registry(true)).cors_origins([ORIGIN]).router();
        Service { registry, router, guarded }
    }

    /// One message from this machine.
    pub(crate) async fn send(&self, request: axum::http::Request<Body>) -> Answer {
        send(&self.router, request).await
    }

    /// A body for a path.
    pub(crate) async fn post(&self, path: &str, body: &[u8]) -> Answer {
        self.send(post(path, body)).await
    }
}

/// A body for a path, said to be JSON.
pub(crate) fn post(path: &str, body: &[u8]) -> axum::http::Request<Body> {
    axum::http::Request::post(path)
        .header("host", "127.0.0.1:7717")
        .header("content-type", "application/json")
        .body(Body::from(body.to_vec()))
        .expect("the path is written here")
}

/// One message from this machine.
pub(crate) async fn send(router: &Router, mut request: axum::http::Request<Body>) -> Answer {
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 7))));
    send_from(router, request).await
}

/// One message from wherever it says.
pub(crate) async fn send_from(router: &Router, request: axum::http::Request<Body>) -> Answer {
    let Ok(response) = router.clone().oneshot(request).await;
    let (parts, body) = response.into_parts();
    let mut whole = BytesMut::new();
    let mut stream = body.into_data_stream();
    let read = async {
        while let Some(Ok(chunk)) = stream.next().await {
            whole.extend_from_slice(&chunk);
            if whole.len() > MAX {
                break;
            }
        }
    };
    // A stream that stays open is read as far as it has come.
    let _ = tokio::time::timeout(MAX_LENGTH, read).await;
    Answer { status: parts.status.as_u16(), headers: parts.headers, body: whole.freeze() }
}

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread needs nothing");
    static SERVICE: RefCell<Option<Rc<Service>>> = const { RefCell::new(None) };
    static RUN: Cell<usize> = const { Cell::new(0) };
}

/// Runs a conversation with the service.
pub(crate) fn talk<T>(conversation: impl AsyncFnOnce(&Service) -> T) -> T {
    RUNTIME.with(|runtime| {
        let service = runtime.block_on(async {
            let run = RUN.replace(RUN.get() + 1);
            if run.is_multiple_of(RUNS) {
                SERVICE.set(None);
            }
            SERVICE.with_borrow_mut(|slot| Rc::clone(slot.get_or_insert_with(|| Rc::new(Service::new()))))
        });
        work::bounded(|| runtime.block_on(conversation(&service)))
    })
}

/// Runs a future that needs no service.
pub(crate) fn alone<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| work::bounded(|| runtime.block_on(future)))
}
