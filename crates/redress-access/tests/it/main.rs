//! Who calls, tried from outside: with real keys, real files and real sockets.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod certificates;
mod faces;
mod files;
#[cfg(feature = "jwks-url")]
mod jwks_url;
mod keys;
mod refused;
mod signing;
mod table;
