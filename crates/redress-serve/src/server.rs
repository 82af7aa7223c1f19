//! Faces on listeners of their own.

use std::{future::Future, sync::Arc};

use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

#[cfg(feature = "tls")]
use crate::connection::tls::Tls;
use crate::{
    Descriptors, Faces, ServeError, ServerLimits,
    connection::{
        accept::Acceptor,
        conn::ServerInner,
        conn_watchdog::ConnCommand,
        listen::{Address, Listen},
        listener::BoundListener,
        server_state::ServerState,
        stats::ServerStats,
    },
    mounted::LAST_WORDS,
    systemd,
};

/// Faces on listeners of their own: any number of addresses and Unix sockets, by TLS or not.
///
/// ```no_run
/// use redress_core::Registry;
/// use redress_serve::{Faces, Listen, Server};
///
/// # async fn run(registry: Registry, signal: impl Future<Output = ()> + Send + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new(Faces::new(registry.clone()))
///     .listen("127.0.0.1:7717".parse::<Listen>()?)
///     .listen(Listen::unix("/run/redress.sock"))
///     .bind()
///     .await?;
/// let handle = server.handle();
/// tokio::spawn(server.run(signal));
/// // Later, with other fittings, limits or rules:
/// handle.replace(Faces::new(registry));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    faces: Faces,
    places: Vec<ListenTarget>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

#[derive(Debug)]
enum ListenTarget {
    Wanted(Listen),
    Open(TcpListener),
}

impl Server {
    /// A server of `faces` that listens nowhere yet.
    pub fn new(faces: Faces) -> Server {
        Server {
            faces,
            places: Vec::new(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Listens here too.
    #[must_use]
    pub fn listen(mut self, place: Listen) -> Server {
        self.places.push(ListenTarget::Wanted(place));
        self
    }

    /// Listens with this too, which is open already.
    #[must_use]
    pub fn listener(mut self, listener: TcpListener) -> Server {
        self.places.push(ListenTarget::Open(listener));
        self
    }

    /// Speaks TLS on every address. Unix sockets stay plain: whoever can listen there sees
    /// the process itself.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Server {
        self.tls = Some(tls);
        self
    }

    /// Opens the listeners. From here on connections are taken by the system, and answered
    /// once the server [runs](BoundServer::run).
    ///
    /// An address that other machines can reach is refused unless something says who may
    /// call: an identity provider in the registry, or a rule given to
    /// [`Faces::caller`].
    pub async fn bind(self) -> Result<BoundServer, ServeError> {
        let guarded = self.faces.is_guarded();
        let mut listeners = Vec::new();
        for place in self.places {
            match place {
                ListenTarget::Open(listener) => listeners.push(BoundListener::of(listener)?),
                ListenTarget::Wanted(Listen::Tcp(address)) if !guarded && !Address::Tcp(address).is_local() => {
                    return Err(ServeError::NoAccess { address });
                }
                ListenTarget::Wanted(place) => BoundListener::open(place, &mut listeners).await?,
            }
        }
        for listener in &listeners {
            if let Address::Tcp(address) = listener.address()
                && !guarded
                && !listener.address().is_local()
            {
                return Err(ServeError::NoAccess { address: *address });
            }
        }
        if listeners.is_empty() {
            return Err(ServeError::Nowhere);
        }
        let server_state = Arc::new(ServerState::within(Descriptors::now()));
        let served = Arc::new(ArcSwap::new(self.faces.shared(&server_state)));
        let serving = Arc::new(ServerInner {
            server_state,
            served,
            #[cfg(feature = "tls")]
            tls: self.tls,
        });
        Ok(BoundServer { serving, listeners })
    }
}

/// A server that listens, and answers once it runs.
#[derive(Debug)]
pub struct BoundServer {
    serving: Arc<ServerInner>,
    listeners: Vec<BoundListener>,
}

impl BoundServer {
    /// Where it listens.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.listeners.iter().map(BoundListener::address)
    }

    /// What changes and observes the server while it runs.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle(Arc::clone(&self.serving))
    }

    /// Serves until `shutdown` resolves, and then until every call has ended: the listeners
    /// are closed, running calls have [`Faces::grace`] to end, and each open stream gets its
    /// last event. Where systemd wants to be told, it is.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), ServeError> {
        systemd::ready();
        self.serve(async {
            shutdown.await;
            systemd::stopping();
        })
        .await;
        Ok(())
    }

    pub(crate) async fn serve(self, shutdown: impl Future<Output = ()> + Send) {
        let BoundServer { serving, listeners } = self;
        let server_state = Arc::clone(&serving.server_state);
        // A server that is dropped takes its connections with it.
        let _closing = CloseServer(Arc::clone(&server_state));
        let (accepting, connections) = (TaskTracker::new(), TaskTracker::new());
        // Nobody waits for it: a call that comes first does what is left of it.
        drop(tokio::task::spawn_blocking(redress_core::warm_up));
        for listener in listeners {
            let here = Acceptor { serving: Arc::clone(&serving), connections: connections.clone(), listener };
            accepting.spawn(here.run());
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = &serving.tls {
            accepting.spawn(tls.clone().watch(server_state.shutdown.token().clone()));
        }
        let served = async {
            shutdown.await;
            let grace = serving.served.load().grace;
            server_state.shutdown.drain();
            server_state.tracker.tell(ConnCommand::Drain);
            accepting.close();
            connections.close();
            let ended = async {
                accepting.wait().await;
                connections.wait().await;
                // A connection that was upgraded is no longer the server's to wait for.
                server_state.sockets.close();
                server_state.sockets.wait().await;
                server_state.settled(&serving.served.load_full().registry).await;
            };
            tokio::select! {
                () = ended => {}
                () = server_state.shutdown.stop(grace, LAST_WORDS) => {}
            }
        };
        tokio::select! {
            () = served => {}
            () = server_state.tracker.reap(&server_state, || serving.served.load().limits) => {}
        }
    }
}

/// Ends whatever is still there when it is dropped.
struct CloseServer(Arc<ServerState>);

impl Drop for CloseServer {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Changes and observes a server while it runs. A clone is of the same server; dropping it
/// stops nothing.
#[derive(Clone, Debug)]
pub struct ServerHandle(Arc<ServerInner>);

impl ServerHandle {
    /// Serves other faces from here on, on the connections that are open and on new ones. What
    /// has begun goes on as it began: calls, streams, and the calls that run on WebSockets.
    /// Their next calls are the new faces'.
    pub fn replace(&self, faces: Faces) {
        let before = self.0.served.swap(faces.shared(&self.0.server_state));
        self.0.server_state.remember(&before);
    }

    /// The limits that hold now: those of the faces, as far as there are file descriptors for them.
    pub fn limits(&self) -> ServerLimits {
        self.0.served.load().limits
    }

    /// What the server counts.
    pub fn stats(&self) -> ServerStats {
        self.0.server_state.stats()
    }

    /// Whether no new calls are taken.
    pub fn is_draining(&self) -> bool {
        self.0.server_state.shutdown.is_draining()
    }

    /// Whether `/readyz` says so.
    pub fn is_ready(&self) -> bool {
        !self.is_draining() && self.0.served.load().is_ready()
    }

    /// The files of TLS, which can be loaded again.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<&Tls> {
        self.0.tls.as_ref()
    }
}
