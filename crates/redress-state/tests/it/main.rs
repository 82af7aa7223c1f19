//! The integration tests of the state, on real files.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod auditing;
mod clocks;
mod consenting;
mod counting;
mod crashing;
mod folders;
mod keeping;
mod locked;
mod log;
mod lost;
mod service;
mod upkeep;
