//! Faces that live in somebody else's server, and how they are told to stop.
//!
//! Why so: docs/decisions/0015-mounted-faces-are-stopped-by-a-handle.md.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use arc_swap::ArcSwap;
use axum::{
    body::{Body, HttpBody as _},
    extract::Request,
    response::Response,
};
use futures_util::StreamExt as _;
use tokio_util::task::TaskTracker;
use tower::Service;

use crate::{
    Faces, ServerStats,
    connection::server_state::ServerState,
    request::service::{FacesInner, FacesService},
};

/// How long cancelled calls have to say so, once the time for running ones is over.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);

/// Stops faces that were [mounted](crate::Faces::mount). A clone stops the same faces.
///
/// Dropping it stops nothing: faces that nobody stops serve for as long as their router does.
#[derive(Clone)]
pub struct Handle {
    pub(crate) server_state: Arc<ServerState>,
    pub(crate) served: Arc<ArcSwap<FacesInner>>,
    pub(crate) calls: TaskTracker,
}

impl Handle {
    /// Takes no new calls from here on: they are answered with OVERLOADED, `/readyz` with 503,
    /// and each open stream gets its last event. Running calls go on.
    pub fn drain(&self) {
        self.server_state.shutdown.drain();
    }

    /// Whether new calls are refused.
    pub fn is_draining(&self) -> bool {
        self.server_state.shutdown.is_draining()
    }

    /// [Drains](Handle::drain), and resolves when every call and every WebSocket has ended. What
    /// still runs after the [grace](crate::Faces::grace) is cancelled, and answered as such.
    ///
    /// Given to axum's `with_graceful_shutdown`, it keeps the server there to answer while
    /// calls end, and lets it close its connections after that.
    pub async fn stop(&self) {
        self.drain();
        self.calls.close();
        let ended = async {
            self.calls.wait().await;
            self.server_state.sockets.close();
            self.server_state.sockets.wait().await;
            self.server_state.settled(&self.served.load_full().registry).await;
        };
        tokio::select! {
            () = ended => {}
            () = self.server_state.shutdown.stop(self.served.load().grace, LAST_WORDS) => {}
        }
        self.server_state.shutdown.finish();
    }

    /// Serves other faces from here on. What has begun goes on as it began.
    pub fn replace(&self, faces: Faces) {
        let before = self.served.swap(faces.shared(&self.server_state));
        self.server_state.remember(&before);
    }

    /// What the faces count; connections are the server's around them to count.
    pub fn stats(&self) -> ServerStats {
        self.server_state.stats()
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("house", &self.server_state).finish_non_exhaustive()
    }
}

/// The faces as a service that knows how many calls run: a server of our own is asked for that,
/// somebody else's cannot be.
#[derive(Clone)]
pub(crate) struct Mounted {
    pub(crate) faces: FacesService,
    pub(crate) calls: TaskTracker,
}

impl Service<Request> for Mounted {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.faces.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (calls, answer) = (self.calls.clone(), self.faces.call(request));
        Box::pin(
            self.calls
                .track_future(async move { answer.await.map(|response| response.map(|body| held(body, &calls))) }),
        )
    }
}

/// The body, counted as a call until its end where it is a stream: a call may still run in it.
fn held(body: Body, calls: &TaskTracker) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    let call = calls.token();
    Body::from_stream(body.into_data_stream().inspect(move |_| {
        let _ = &call;
    }))
}
