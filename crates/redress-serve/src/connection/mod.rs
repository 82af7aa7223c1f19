//! Connections: listening, accepting, TLS, who is at the other end, what is slow or idle, and how all of it ends.

#[cfg(unix)]
pub(crate) mod unix_socket;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod stats;
pub(crate) mod shutdown;
pub(crate) mod proxies;
pub(crate) mod tracked_io;
pub(crate) mod conn_watchdog;
pub(crate) mod network;
pub(crate) mod listener;
pub(crate) mod listen;
pub(crate) mod server_state;
#[cfg(feature = "tls")]
pub(crate) mod handshake;
pub(crate) mod descriptors;
pub(crate) mod accept;
pub(crate) mod conn;
