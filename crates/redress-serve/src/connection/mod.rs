//! Connections: listening, accepting, TLS, who is at the other end, what is slow or idle, and how all of it ends.

pub(crate) mod accept;
pub(crate) mod conn;
pub(crate) mod conn_watchdog;
pub(crate) mod descriptors;
#[cfg(feature = "tls")]
pub(crate) mod handshake;
pub(crate) mod listen;
pub(crate) mod listener;
pub(crate) mod network;
pub(crate) mod proxies;
pub(crate) mod server_state;
pub(crate) mod shutdown;
pub(crate) mod stats;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod tracked_io;
#[cfg(unix)]
pub(crate) mod unix_socket;
