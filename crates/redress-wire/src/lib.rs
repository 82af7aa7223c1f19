//! How an operation *looks outside*: the documents that describe it and the messages that
//! ask for it and answer. [`http`] with OpenAPI, [`jsonrpc`], [`openrpc`], [`mcp`], and the
//! [`pages`] about codes.
//!
//! **Invariant:** this crate knows no socket, clock, file or runtime, and runs nothing. The
//! same contract or outcome always gives the same bytes.

pub mod consent;
pub mod http;
pub mod jsonrpc;
pub mod mcp;
pub mod openrpc;
pub mod pages;
