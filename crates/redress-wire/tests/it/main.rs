//! How outcomes and contracts look outside.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod documents;
mod jsonrpc;
mod mcp;
mod problems;
mod service;
