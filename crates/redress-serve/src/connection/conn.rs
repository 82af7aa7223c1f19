//! One connection, from its handshake to its end.
//!
//! Why so: docs/decisions/0026-connections-of-our-own.md.

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::SystemTime,
};

use arc_swap::ArcSwap;
use axum::{body::Body, extract::Request, http::Version, response::Response};
use hyper::{
    body::{Body as _, Incoming},
    rt::Executor,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulConnection},
};
use redress_core::{Account, client_prefix};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::task::TaskTracker;

#[cfg(feature = "tls")]
use crate::connection::tls::Tls;
use crate::{
    ServerLimits,
    connection::{
        accept::OpenConn,
        conn_watchdog::{ConnActivity, ConnCommand},
        listener::Socket,
        server_state::ServerState,
        tracked_io::{CountedIo, TrackedIo},
    },
    request::{
        body::{RunningBody, SLICE},
        framing,
        service::FacesInner,
    },
};

/// The shortest buffer that headers may be read into.
const SHORTEST_HEADERS: usize = 8192;
/// How many requests that were reset before they were looked at a client may have.
const RESETS: usize = 20;
/// How many requests a client may make the server reset.
const ERRORS: usize = 100;

/// What a server serves.
pub(crate) struct ServerInner {
    pub(crate) server_state: Arc<ServerState>,
    pub(crate) served: Arc<ArcSwap<FacesInner>>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
}

/// A connection, as its messages see it.
pub(crate) struct ConnContext {
    pub(crate) served: Arc<ArcSwap<FacesInner>>,
    pub(crate) side: PeerInfo,
    /// What the answers on it are charged to, where there is one at a time and where there may be many.
    pub(crate) account: Account,
    pub(crate) account_of_many: Account,
    /// How it gets on, where that is ours to know.
    pub(crate) activity: Option<Arc<ConnActivity>>,
}

impl ConnContext {
    pub(crate) fn new(
        served: Arc<ArcSwap<FacesInner>>,
        side: PeerInfo,
        account: &Account,
        activity: Option<Arc<ConnActivity>>,
    ) -> ConnContext {
        ConnContext { served, side, account: account.clone(), account_of_many: account.of_many(), activity }
    }
}

/// Who is on the other side.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerInfo {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) local: bool,
    pub(crate) secure: bool,
    pub(crate) certificate: Option<Arc<[u8]>>,
}

impl PeerInfo {
    pub(crate) fn at(address: SocketAddr) -> PeerInfo {
        let local = crate::request::page_origin::is_local(address.ip());
        PeerInfo { address: Some(address), local, ..PeerInfo::default() }
    }
}

impl ServerInner {
    /// Serves a connection until its end. What it starts is one of `tasks` too: the calls of a
    /// client that has gone are waited for like all others.
    pub(crate) async fn connection(self: Arc<ServerInner>, socket: Socket, open: OpenConn, tasks: TaskTracker) {
        let limits = self.served.load().limits;
        match socket {
            #[cfg(unix)]
            Socket::Unix(stream) => {
                let side = PeerInfo { local: true, ..PeerInfo::default() };
                self.speak(stream, side, Protocol::Either, &limits, open, tasks).await;
            }
            Socket::Tcp(stream, address) => {
                // An answer is written at once, and must not wait for another to fill a packet.
                let _ = stream.set_nodelay(true);
                let side = PeerInfo::at(address);
                #[cfg(feature = "tls")]
                if let Some(tls) = &self.tls {
                    if let Some((stream, side, protocol)) = self.shake_hands(tls, stream, side, &limits).await {
                        self.speak(stream, side, protocol, &limits, open, tasks).await;
                    }
                    return;
                }
                self.speak(stream, side, Protocol::Either, &limits, open, tasks).await;
            }
        }
    }

    async fn speak<T>(
        &self,
        stream: T,
        side: PeerInfo,
        protocol: Protocol,
        limits: &ServerLimits,
        open: OpenConn,
        tasks: TaskTracker,
    ) where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let entered = self.server_state.tracker.enter(side.address.map(|address| client_prefix(address.ip())));
        let activity = Arc::clone(&entered.activity);
        let builder = builder(protocol, limits, Tasks(tasks));
        #[cfg(feature = "tls")]
        if protocol == Protocol::Http2 {
            activity.speaks_http2();
        }
        let (served, account) = (Arc::clone(&self.served), self.server_state.budget.connection());
        let line = Arc::new(ConnContext::new(served, side, &account, Some(Arc::clone(&activity))));
        let service = ConnService { line, activity: Arc::clone(&activity) };
        let counted = CountedIo { inner: stream, activity: Arc::clone(&activity) };
        let io = TrackedIo::new(TokioIo::new(counted), Arc::clone(&activity), protocol != Protocol::Either, open);
        let spoken = pin!(builder.serve_connection_with_upgrades(io, service));
        let ended = DrainableConn { spoken, activity, waker: None, ending: false }.await;
        if let Some(Err(error)) = ended {
            tracing::debug!(%error, "a connection ended badly");
        }
        drop(entered);
    }
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// What the client begins with.
    Either,
    #[cfg(feature = "tls")]
    Http1,
    #[cfg(feature = "tls")]
    Http2,
}

/// Runs the requests of HTTP/2.
#[derive(Clone)]
struct Tasks(TaskTracker);

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}

fn builder(protocol: Protocol, limits: &ServerLimits, tasks: Tasks) -> auto::Builder<Tasks> {
    let mut builder = auto::Builder::new(tasks);
    let dated = is_dated(SystemTime::now());
    builder
        .http1()
        .auto_date_header(dated)
        .max_buf_size(limits.header_bytes.max(SHORTEST_HEADERS))
        .header_read_timeout(None);
    builder
        .http2()
        .auto_date_header(dated)
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(u32::try_from(limits.header_bytes.max(SHORTEST_HEADERS)).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(ERRORS)
        .keep_alive_interval(limits.idle_time / 2)
        .keep_alive_timeout(limits.write_time);
    match protocol {
        Protocol::Either => builder,
        #[cfg(feature = "tls")]
        Protocol::Http1 => builder.http1_only(),
        #[cfg(feature = "tls")]
        Protocol::Http2 => builder.http2_only(),
    }
}

/// Whether answers can have a `Date`. A clock that shows a time before 1970 was never set, and hyper panics where it has
/// to write such a time; a server without a clock sends no date (RFC 9110).
fn is_dated(now: SystemTime) -> bool {
    now.duration_since(SystemTime::UNIX_EPOCH).is_ok()
}

/// A connection that does what it is told.
struct DrainableConn<'a, C> {
    spoken: Pin<&'a mut C>,
    activity: Arc<ConnActivity>,
    waker: Option<Waker>,
    ending: bool,
}

impl<C: GracefulConnection> Future for DrainableConn<'_, C> {
    /// How it ended by itself; nothing, if it had to end.
    type Output = Option<Result<(), C::Error>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if !this.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            this.activity.register(cx.waker());
            this.waker = Some(cx.waker().clone());
        }
        // What runs when the service goes down is the last on its connection; what begins while
        // the connection lingers is too.
        this.end_if_told();
        loop {
            // A request that was read now would run, and nobody would be there to tell how it ended.
            if this.activity.told() == ConnCommand::Close {
                return Poll::Ready(None);
            }
            if let Poll::Ready(ended) = this.spoken.as_mut().poll(cx) {
                return Poll::Ready(Some(ended));
            }
            if !this.end_if_told() && this.activity.told() != ConnCommand::Close {
                return Poll::Pending;
            }
        }
    }
}

impl<C: GracefulConnection> DrainableConn<'_, C> {
    /// Takes no further requests, if it is time; says whether that is new.
    fn end_if_told(&mut self) -> bool {
        let ends = !self.ending && self.activity.told() == ConnCommand::DrainNow;
        if ends {
            self.ending = true;
            self.spoken.as_mut().graceful_shutdown();
        }
        ends
    }
}

/// Answers the messages of one connection.
struct ConnService {
    line: Arc<ConnContext>,
    activity: Arc<ConnActivity>,
}

impl hyper::service::Service<Request<Incoming>> for ConnService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let http2 = request.version() == Version::HTTP_2;
        let framed = framing::check(&mut request);
        let running = self.activity.begin();
        let request = request.map(|body| if body.is_end_stream() { Body::empty() } else { Body::new(body) });
        let (shared, line) = (self.line.served.load_full(), Arc::clone(&self.line));
        Box::pin(async move {
            let response = match framed {
                Ok(()) => shared.answer(line, request).await,
                Err(refusal) => shared.misframed(refusal, &request),
            };
            if !http2 && response.body().size_hint().exact().is_some_and(|length| length <= SLICE as u64) {
                return Ok(response);
            }
            Ok(response.map(|body| Body::new(RunningBody::new(body, http2, running.body()))))
        })
    }
}

impl std::fmt::Debug for ServerInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerInner").field("house", &self.server_state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::connection::conn_watchdog::ConnTracker;
    use tokio::io::AsyncWriteExt as _;

    /// Whether a request that has just come runs on a connection that is told this, and whether the
    /// connection is at its end.
    async fn told(told: ConnCommand) -> (bool, bool) {
        let ran = AtomicBool::new(false);
        let service = hyper::service::service_fn(|_: Request<Incoming>| {
            ran.store(true, Ordering::Relaxed);
            std::future::pending::<Result<Response, Infallible>>()
        });
        let (mut client, server) = tokio::io::duplex(1024);
        client.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let tracker = Arc::new(ConnTracker::default());
        let activity = Arc::clone(&tracker.enter(None).activity);
        activity.tell(told);
        let builder = builder(Protocol::Either, &ServerLimits::default(), Tasks(TaskTracker::new()));
        let io = TrackedIo::new(TokioIo::new(server), Arc::clone(&activity), false, ());
        let spoken = pin!(builder.serve_connection_with_upgrades(io, service));
        let ended = futures_util::poll!(DrainableConn { spoken, activity, waker: None, ending: false }).is_ready();
        (ran.load(Ordering::Relaxed), ended)
    }

    #[tokio::test]
    async fn a_connection_that_has_to_end_runs_no_request_whose_answer_would_be_lost() {
        assert_eq!(told(ConnCommand::Nothing).await, (true, false));
        assert_eq!(told(ConnCommand::Close).await, (false, true));
    }

    #[test]
    fn a_clock_that_was_never_set_dates_no_answer() {
        let before = SystemTime::UNIX_EPOCH.checked_sub(std::time::Duration::from_secs(1)).unwrap();
        assert!(is_dated(SystemTime::now()) && is_dated(SystemTime::UNIX_EPOCH) && !is_dated(before));
    }
}
