//! The limits as a service meets them: through a registry, on a clock that stands still, and between threads.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod calls;
mod reload;
mod service;
mod streams;
mod threads;
