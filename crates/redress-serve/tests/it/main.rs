//! The faces over real sockets.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod connections;
mod deprecated;
mod framing;
#[cfg(feature = "tls")]
mod guide;
mod home;
mod http;
mod leaving;
mod lost;
mod mounting;
mod pages;
mod rpc;
mod service;
mod streams;
#[cfg(feature = "mcp")]
mod suite;
mod tokens;
mod traces;
mod ws;
