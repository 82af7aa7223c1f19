//! What is *seen* of calls: metrics, traces, logs, and the dashboard and alerts that a contract asks for.
//!
//! **Invariant:** this crate changes no outcome, and its labels come from the contract alone, never from a caller.
