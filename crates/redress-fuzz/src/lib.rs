//! What redress does with *bytes that nobody meant well*: one target for each parser of outside bytes, each with an
//! oracle that says what every answer has to keep, whatever was sent.
//!
//! A target is a function of bytes that panics where the oracle does not hold. `cargo test -p redress-fuzz` replays the
//! kept corpus through them; `scripts/fuzz` lets libFuzzer look for more.
//!
//! Why so: docs/decisions/0031-fuzzing-with-an-oracle.md.
//!
//! **Invariant:** a target tells of nothing but its bytes: it opens no socket, waits for no clock, and what it keeps
//! from one run to the next changes no verdict. It goes through the doors that outside bytes come in by, never around.
//!
//! ```
//! let (_, target) = redress_fuzz::TARGETS.iter().find(|(name, _)| *name == "call").expect("there is one");
//! target(br#"{"operation":"demo.greet","input":{"name":"Ada"}}"#);
//! target(b"\xff\x00 not even text");
//! ```

pub mod growth;
mod operations;
mod oracle;
mod service;
mod signed;
mod socket;
mod targets;
mod work;

pub use targets::TARGETS;
