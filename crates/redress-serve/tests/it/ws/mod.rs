//! The WebSocket face, over real connections.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod access;
mod calls;
mod hostile;
mod many;
mod peers;
mod python;
mod service;
mod streams;
