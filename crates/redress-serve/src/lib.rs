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

mod connection;
mod faces;
mod limits;
mod mounted;
mod request;
mod routes;
mod server;
pub mod systemd;
pub mod ws;

pub use connection::descriptors::Descriptors;
pub use connection::listen::{Address, Listen, NotAListener};
pub use connection::network::{Network, NotANetwork};
pub use connection::stats::ServerStats;
#[cfg(feature = "tls")]
pub use connection::tls::{Tls, TlsError, TlsFiles};
pub use faces::{Faces, ServeError};
pub use limits::ServerLimits;
pub use mounted::Handle;
pub use request::caller::{Anonymous, CallerOf, Connection, Loopback};
pub use routes::discovery::discovery;
pub use server::{BoundServer, Server, ServerHandle};
