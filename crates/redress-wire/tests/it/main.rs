//! How outcomes and contracts look outside.

mod documents;
mod jsonrpc;
mod problems;
mod service;
