//! The MCP face over real sockets and a real process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod alike;
mod clients;
mod demo;
mod hostile;
mod http;
mod many;
mod service;
mod stdio;
mod streams;
