//! *Connections*: the faces of a registry. One router serves every operation over HTTP and
//! JSON-RPC, its streams as server-sent events, and the documents that describe it all; with
//! the feature `mcp` also over the Model Context Protocol.
//!
//! **Invariant:** this crate decides nothing about an outcome. Every call goes through
//! `Registry::call` or `Registry::subscribe`, and how the outcome looks is `redress-wire`'s.
//!
//! ```no_run
//! use redress_core::Registry;
//! use redress_serve::Faces;
//!
//! # async fn run(registry: Registry) -> Result<(), Box<dyn std::error::Error>> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7717").await?;
//! Faces::new(registry).serve(listener, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```

mod accept;
mod answer;
mod asking;
mod bearer;
mod body;
mod caller;
#[cfg(feature = "compression")]
mod compression;
mod connection;
mod cors;
mod descriptors;
mod discovery;
mod documents;
mod etag;
mod faces;
mod framing;
#[cfg(feature = "tls")]
mod handshake;
mod house;
mod limits;
mod listen;
mod listener;
#[cfg(feature = "mcp")]
mod mcp;
mod metrics;
mod mounted;
mod network;
mod pace;
mod paced;
mod page;
mod proxies;
mod room;
mod routes;
mod server;
mod service;
mod shutdown;
mod stats;
pub mod systemd;
#[cfg(feature = "tls")]
mod tls;
#[cfg(unix)]
mod unix_socket;
pub mod ws;

pub use caller::{Anonymous, CallerOf, Connection, Loopback};
pub use descriptors::Descriptors;
pub use discovery::discovery;
pub use faces::{Faces, ServeError};
pub use limits::ServerLimits;
pub use listen::{Address, Listen, NotAListener};
pub use mounted::Handle;
pub use network::{Network, NotANetwork};
pub use server::{BoundServer, Server, ServerHandle};
pub use stats::ServerStats;
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError, TlsFiles};
