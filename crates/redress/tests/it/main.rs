//! The integration tests of the crate that users come in by.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod architecture;
mod conformance;
mod extensions;
mod mapping;
mod path_order;
mod registration;
mod running;
mod service;
