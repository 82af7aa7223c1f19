//! Connections, as they come.

use std::{io, sync::Arc, time::Duration};

use axum::http::StatusCode;
use redress_contract::EngineCode;
use redress_core::{Refusal, Request};
use redress_wire::http::{self, ProblemDocument};
use serde_json::json;
use tokio_util::task::TaskTracker;

use crate::{
    connection::{
        conn::ServerInner,
        listener::{BoundListener, Socket},
        server_state::{ServerState, TallyPermit, client_prefix},
    },
    request::service::FacesInner,
};

/// How long nothing is accepted after it could not be, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// How many connections are still taken of those that wait when the listener is closed.
const BACKLOG: usize = 4096;

/// A listener whose connections are taken.
pub(crate) struct Acceptor {
    pub(crate) serving: Arc<ServerInner>,
    pub(crate) connections: TaskTracker,
    pub(crate) listener: BoundListener,
}

impl Acceptor {
    /// Takes connections until the service goes down. An error ends one connection at most:
    /// one that stays, such as too few file descriptors, is waited out.
    pub(crate) async fn run(self) {
        let server_state = &self.serving.server_state;
        let draining = server_state.shutdown.token();
        let mut pause = PAUSE.0;
        while let Some(accepted) = draining.run_until_cancelled(self.listener.accept()).await {
            match accepted {
                Ok(socket) => {
                    pause = PAUSE.0;
                    self.take(socket);
                }
                Err(error) if is_of_one_connection(&error) => server_state.counters.accept_errors.up(),
                Err(error) => {
                    server_state.counters.accept_errors.up();
                    tracing::warn!(%error, "no connection can be accepted");
                    if draining.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                        break;
                    }
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
        let Acceptor { serving, connections, listener } = self;
        // Who was in line when the door closed is told to come again; hanging up on them
        // would leave them guessing.
        for socket in listener.rest().take(BACKLOG) {
            take(&serving, &connections, socket);
        }
    }

    fn take(&self, socket: Socket) {
        take(&self.serving, &self.connections, socket);
    }
}

fn take(serving: &Arc<ServerInner>, connections: &TaskTracker, socket: Socket) {
    let (server_state, shared) = (&serving.server_state, serving.served.load());
    server_state.counters.accepted.up();
    let from =
        socket.address().map(|address| address.ip()).filter(|address| !shared.trusts(*address)).map(client_prefix);
    let by_address = match from {
        None => None,
        Some(from) => match server_state.by_address.take(from, shared.limits.per_address) {
            Some(counted) => Some(counted),
            None => {
                server_state.counters.refused_by_address.up();
                return refuse(serving, &shared, socket, "address");
            }
        },
    };
    let max = u64::try_from(shared.limits.connections).unwrap_or(u64::MAX);
    if server_state.counters.connections.get() >= max && !server_state.evict_idle(from) {
        server_state.counters.refused.up();
        return refuse(serving, &shared, socket, "server");
    }
    drop(shared);
    let open = OpenConn::new(Arc::clone(server_state), by_address);
    connections.spawn(Arc::clone(serving).connection(socket, open, connections.clone()));
}

/// Whether the error is of a connection that went away before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

/// Says for whom there is no room, if that can be said at once, and hangs up.
fn refuse(serving: &ServerInner, shared: &FacesInner, socket: Socket, per: &str) {
    #[cfg(feature = "tls")]
    if serving.tls.is_some() && socket.address().is_some() {
        return;
    }
    let _ = serving;
    let refusal = Refusal::new(EngineCode::Overloaded)
        .with_details(&json!({"limit": "connections", "per": per}))
        .with_retry_after_ms(1000);
    let envelope = shared.registry.refuse(refusal, Request::default());
    let Ok(ProblemDocument { body, retry_after, .. }) = http::problem(envelope) else { return };
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let retry_after = retry_after.unwrap_or(1);
    let length = body.len();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {}\r\nx-content-type-options: nosniff\r\nretry-after: {retry_after}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n",
        http::PROBLEM_JSON,
    )
    .into_bytes();
    answer.extend_from_slice(&body);
    socket.hang_up(&answer);
}

/// A connection that is open, and counted as such.
#[derive(Debug)]
pub(crate) struct OpenConn {
    server_state: Arc<ServerState>,
    _by_address: Option<TallyPermit<std::net::IpAddr>>,
}

impl OpenConn {
    fn new(server_state: Arc<ServerState>, by_address: Option<TallyPermit<std::net::IpAddr>>) -> OpenConn {
        server_state.counters.connections.up();
        OpenConn { server_state, _by_address: by_address }
    }
}

impl Drop for OpenConn {
    fn drop(&mut self) {
        self.server_state.counters.connections.down();
    }
}
