//! All faces of a registry, on one listener or inside another router.
//!
//! Why so: docs/decisions/0027-faces-are-replaced-whole.md.

use std::{future::Future, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use axum::Router;
use redress_core::{BudgetLimits, Registry};
use redress_wire::http::Info;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::{
    Network, Server, ServerLimits,
    connection::server_state::ServerState,
    mounted::{Handle, Mounted},
    request::{
        caller::{Anonymous, CallerOf, Loopback},
        cors::Origins,
        service::{FacesInner, FacesService},
    },
    routes::{document_cache::DocumentCache, metrics::MetricsSource, table::ROUTES},
    ws::{self, WebSockets},
};

/// What a message may hold beside the input of its call.
pub(crate) const AROUND_INPUT: usize = 64 * 1024;

/// All faces of a registry: made once, then served or put inside another router.
///
/// ```
/// use redress_core::Registry;
/// use redress_serve::Faces;
///
/// let registry = Registry::builder().build().unwrap();
/// let app: axum::Router = axum::Router::new().nest("/api", Faces::new(registry).router());
/// ```
pub struct Faces {
    registry: Registry,
    caller: Option<Arc<dyn CallerOf>>,
    info: Info,
    max_body: Option<usize>,
    max_batch: usize,
    keep_alive: Duration,
    grace: Duration,
    limits: ServerLimits,
    origins: Origins,
    proxies: Arc<[Network]>,
    #[cfg(feature = "compression")]
    compression: bool,
    ready: Option<Ready>,
    ready_details: Option<ReadyDetails>,
    web_sockets: WebSockets,
    metrics: Option<MetricsSource>,
    #[cfg(feature = "mcp")]
    mcp: crate::routes::mcp::McpSettings,
}

/// Whether calls can be taken.
pub(crate) type Ready = Arc<dyn Fn() -> bool + Send + Sync>;
/// What `/readyz` says beside that.
pub(crate) type ReadyDetails = Arc<dyn Fn() -> Map<String, Value> + Send + Sync>;

/// Why a service did not start, or did not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Everyone who can reach the address could call everything.
    #[error("{address} can be reached from other machines, and nothing says who may call")]
    NoAccess {
        /// Where it would have listened.
        address: SocketAddr,
    },
    /// The listener failed.
    #[error("the listener failed")]
    Listener(#[from] io::Error),
    /// The address cannot be listened on.
    #[error("{address} cannot be listened on")]
    Address {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The Unix socket cannot be listened on.
    #[error("{} cannot be listened on", path.display())]
    Socket {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No socket was passed to this process.
    #[error("no socket was passed to this process (LISTEN_FDS)")]
    NothingPassed,
    /// There is nothing to listen on.
    #[error("the server has nowhere to listen")]
    Nowhere,
}

impl Faces {
    /// The faces of `registry`. Their documents say what the registry's program says of itself, until they are told
    /// otherwise.
    pub fn new(registry: Registry) -> Faces {
        let mut info = Info::default();
        if let Some(program) = registry.program() {
            program.title().clone_into(&mut info.title);
            program.version().clone_into(&mut info.version);
            info.description = program.description().map(str::to_owned);
        }
        Faces {
            registry,
            caller: None,
            info,
            max_body: None,
            max_batch: 50,
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(10),
            limits: ServerLimits::default(),
            origins: Origins::default(),
            proxies: Arc::default(),
            #[cfg(feature = "compression")]
            compression: false,
            ready: None,
            ready_details: None,
            web_sockets: WebSockets::default(),
            metrics: None,
            #[cfg(feature = "mcp")]
            mcp: crate::routes::mcp::McpSettings::default(),
        }
    }

    /// Sets who is on the other side of a connection, where no token says so. By default,
    /// with an identity provider in the registry that is nobody; without one it is `local`
    /// for connections from this machine.
    #[must_use]
    pub fn caller(mut self, rule: impl CallerOf) -> Faces {
        self.caller = Some(Arc::new(rule));
        self
    }

    /// Sets what the documents call the service.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Faces {
        self.info.title = title.into();
        self
    }

    /// Sets the version that the documents give.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Faces {
        self.info.version = version.into();
        self
    }

    /// Sets what the documents say the service is for, in Markdown.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Faces {
        self.info.description = Some(text.into());
        self
    }

    /// Sets where the documents say that the service is, for one that is nested or behind
    /// a proxy: `/api`, or a whole URL.
    #[must_use]
    pub fn server(mut self, url: impl Into<String>) -> Faces {
        self.info.server = url.into();
        self
    }

    /// Sets how many bytes a message may have. By default, what the largest input needs.
    #[must_use]
    pub fn max_body(mut self, bytes: usize) -> Faces {
        self.max_body = Some(bytes);
        self
    }

    /// Sets how many calls a batch may have.
    #[must_use]
    pub fn max_batch(mut self, calls: usize) -> Faces {
        self.max_batch = calls;
        self
    }

    /// Sets after how much silence a stream shows that it is still there.
    #[must_use]
    pub fn keep_alive(mut self, interval: Duration) -> Faces {
        self.keep_alive = interval;
        self
    }

    /// Sets how long running calls have to end once the service is told to stop.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Faces {
        self.grace = grace;
        self
    }

    /// Sets the numbers that bound connections, and what one caller may hold open.
    #[must_use]
    pub fn limits(mut self, limits: ServerLimits) -> Faces {
        self.limits = limits;
        self
    }

    /// Sets from which origins web pages may call, such as `https://app.example.com`; `*` is
    /// all of them. They call with a token of their own: cookies are never asked for.
    #[must_use]
    pub fn cors_origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Faces {
        self.origins = Origins::new(origins.into_iter().map(Into::into));
        self
    }

    /// Sets whose word counts on where a message comes from (`Forwarded`, `X-Forwarded-For`,
    /// `X-Forwarded-Proto`). Of anybody else these headers are not believed.
    #[must_use]
    pub fn trusted_proxies(mut self, proxies: impl IntoIterator<Item = Network>) -> Faces {
        self.proxies = proxies.into_iter().collect();
        self
    }

    /// Sets whether answers are compressed for readers that accept it; by default they are
    /// not. See the guide on connections for when not to.
    #[cfg(feature = "compression")]
    #[must_use]
    pub fn compression(mut self, compression: bool) -> Faces {
        self.compression = compression;
        self
    }

    /// Sets what else has to hold for `/readyz` to say that calls are taken.
    #[must_use]
    pub fn ready(mut self, ready: impl Fn() -> bool + Send + Sync + 'static) -> Faces {
        self.ready = Some(Arc::new(ready));
        self
    }

    /// Adds members to what `/readyz` answers while calls are taken, such as which services behind a gateway are away.
    #[must_use]
    pub fn ready_details(mut self, details: impl Fn() -> Map<String, Value> + Send + Sync + 'static) -> Faces {
        self.ready_details = Some(Arc::new(details));
        self
    }

    /// Sets the numbers that bound each WebSocket.
    #[must_use]
    pub fn ws_limits(mut self, limits: ws::WebSocketLimits) -> Faces {
        self.web_sockets.limits = limits;
        self
    }

    /// Sets the table in which the WebSockets that are open can be found, so that an operation
    /// can call the other side of its own.
    #[must_use]
    pub fn ws_peers(mut self, peers: ws::Peers) -> Faces {
        self.web_sockets.peers = peers;
        self
    }

    /// Shows metrics at `/metrics`, as this makes them when they are asked for: to callers with the scope
    /// `metrics:read`, which the caller `local` has.
    ///
    /// ```
    /// # fn served(registry: redress_core::Registry) {
    /// use redress_serve::Faces;
    ///
    /// // As a rule: `let metrics = redress_telemetry::Metrics::new(registry.contract())`.
    /// let faces = Faces::new(registry).metrics(|| "shop_open 1\n".to_owned());
    /// # }
    /// ```
    #[must_use]
    pub fn metrics(mut self, text: impl Fn() -> String + Send + Sync + 'static) -> Faces {
        let open = self.metrics.is_some_and(|metrics| metrics.open);
        self.metrics = Some(MetricsSource { text: Arc::new(text), open });
        self
    }

    /// Shows the metrics to everyone who can reach the service. Call it after [`metrics`](Faces::metrics).
    #[must_use]
    pub fn metrics_open(mut self) -> Faces {
        if let Some(metrics) = &mut self.metrics {
            metrics.open = true;
        }
        self
    }

    /// Sets the MCP face; by default it is one of all external operations.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp(mut self, mcp: redress_mcp::Mcp) -> Faces {
        self.mcp.mcp = Some(mcp);
        self
    }

    /// Sets who may reach the MCP face, and where its tokens come from. The size of a message is
    /// that of [`max_body`](Faces::max_body).
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp_http(mut self, options: redress_mcp::HttpOptions) -> Faces {
        self.mcp.http = options;
        self
    }

    /// The faces as a router, to be nested or merged into another and wrapped in layers. Where
    /// the server goes down in an orderly way, [`mount`](Faces::mount) gives what stops them too.
    ///
    /// The peer's address is taken from axum's `ConnectInfo<SocketAddr>`; where that is
    /// missing, nobody is local.
    pub fn router(self) -> Router {
        self.mount().0
    }

    /// The faces as a [`router`](Faces::router), and the handle that stops them with the server
    /// around them.
    ///
    /// ```no_run
    /// # async fn run(registry: redress_core::Registry, signal: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
    /// use redress_serve::Faces;
    ///
    /// let (faces, handle) = Faces::new(registry).server("/api").mount();
    /// let app = axum::Router::new().nest("/api", faces);
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    /// axum::serve(listener, app.into_make_service_with_connect_info::<std::net::SocketAddr>())
    ///     .with_graceful_shutdown(async move {
    ///         signal.await;
    ///         handle.stop().await;
    ///     })
    ///     .await
    /// # }
    /// ```
    pub fn mount(self) -> (Router, Handle) {
        let server_state = Arc::new(ServerState::default());
        let served = Arc::new(ArcSwap::new(self.shared(&server_state)));
        let handle = Handle { server_state, served: Arc::clone(&served), calls: TaskTracker::new() };
        let service = Mounted { faces: FacesService { served }, calls: handle.calls.clone() };
        let paths = ROUTES.iter().map(|row| row.path);
        let router = paths.fold(Router::new(), |router, path| router.route_service(path, service.clone()));
        (router.fallback_service(service), handle)
    }

    /// Serves the faces until `shutdown` resolves, and then until every call has ended: no
    /// new ones are taken, running ones have [`grace`](Faces::grace) to end, and each open
    /// stream gets its last event. [`Server`] is for more than one listener, and for TLS.
    ///
    /// An address that other machines can reach is refused unless something says who may
    /// call: an identity provider in the registry, or a rule given to
    /// [`caller`](Faces::caller).
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let server = Server::new(self).listener(listener).bind().await?;
        server.serve(shutdown).await;
        Ok(())
    }

    /// Whether something says who may call.
    pub(crate) fn is_guarded(&self) -> bool {
        self.caller.is_some() || self.registry.identity().is_some()
    }

    /// What is served, in a house that may have served other faces before.
    pub(crate) fn shared(self, server_state: &Arc<ServerState>) -> Arc<FacesInner> {
        #[cfg(feature = "mcp")]
        let (guarded, mcp) = (self.is_guarded(), self.mcp);
        #[cfg(feature = "mcp")]
        let streams =
            crate::routes::mcp::CallerStreams { server_state: Arc::clone(server_state), max: self.limits.streams };
        server_state.budget.set_limits(BudgetLimits {
            connection: self.limits.answer_bytes_per_connection,
            caller: self.limits.answer_bytes_per_caller,
            all: self.limits.answer_bytes,
        });
        let Faces { registry, caller, mut info, max_body, max_batch, keep_alive, web_sockets, metrics, .. } = self;
        info.bearer = registry.identity().is_some();
        info.max_batch = max_batch;
        let caller = caller.unwrap_or_else(|| match registry.identity() {
            Some(_) => Arc::new(Anonymous),
            None => Arc::new(Loopback::new()),
        });
        let max_body = max_body.unwrap_or_else(|| {
            let declared = registry.contract().operations().iter().filter_map(|operation| operation.max_input());
            declared.fold(registry.settings().max_input, usize::max).saturating_add(AROUND_INPUT)
        });
        Arc::new(FacesInner {
            #[cfg(feature = "mcp")]
            mcp: mcp.face(&registry, &info, max_body, guarded, &self.origins, streams),
            has_deprecated: registry.contract().operations().iter().any(|operation| operation.deprecated().is_some()),
            registry,
            caller,
            info,
            max_body,
            max_batch,
            keep_alive,
            grace: self.grace,
            limits: server_state.descriptors.map_or(self.limits, |descriptors| descriptors.hold(self.limits)),
            origins: self.origins,
            proxies: self.proxies,
            #[cfg(feature = "compression")]
            compression: self.compression,
            ready: self.ready,
            ready_details: self.ready_details,
            documents: DocumentCache::default(),
            server_state: Arc::clone(server_state),
            web_sockets,
            metrics,
        })
    }
}

impl std::fmt::Debug for Faces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faces").field("registry", &self.registry).finish_non_exhaustive()
    }
}
