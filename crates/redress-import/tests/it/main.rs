//! What documents become, from the outside.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod documents;
mod exported;
mod hostile;
mod listed;
mod next_calls;
mod overlays;
mod overrides;
mod questions;
mod reading;
mod real;
mod schemas;
mod swagger;
