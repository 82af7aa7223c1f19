//! The crate through its public API.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod acceptances;
mod changes;
mod fixtures;
mod hostile;
mod kept;
mod lint;
mod lock;
mod real;
