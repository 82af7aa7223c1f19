//! Services behind the gateway: what they answer, what they do to us, and what nobody may see.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod calls;
mod certificates;
mod credentials;
mod documents;
mod faces;
mod faults;
mod hostile;
mod mock;
mod outcomes;
mod reach;
mod secrets;
mod streams;
mod values;
