//! The test kit, for the engine's own tests and for yours.
//!
//! | to… | use |
//! |---|---|
//! | call operations as a given caller | [`Harness`] |
//! | read a stream to its end, or as the test goes along | [`Harness::subscribe`], [`Harness::watch`] |
//! | call an operation's function as the ordinary function it is | [`ctx`], [`TestCtx`] |
//! | say how a call must end, by code and never by text | [`assert_failure!`], [`assert_ok!`] |
//! | prove that nothing leaks | [`Canary`] |
//! | know that the declared examples are what really happens | [`Examples`] |
//! | know that every operation keeps what it declares: valid, invalid and unauthorised calls | [`Contracts`] |
//! | know which declared failures the tests produced, and which never | [`Coverage`] |
//! | know that no declared operation was forgotten where the registry is built | [`assert_registered!`] |
//!
//! ```
//! use redress_core::testing::{Harness, assert_failure, assert_ok};
//! use redress_core::{DynamicFailure, Operation, Registry};
//! use redress_core::contract::{self, Caller, FailureDeclaration, Kind, Recovery};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let read = contract::OperationDeclaration::query("files.read")
//!     .with_input(json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}))
//!     .with_summary("Read a text file.")
//!     .fails(
//!         FailureDeclaration::new("FILE_NOT_FOUND", Kind::NotFound)
//!             .with_when("The file does not exist.")
//!             .with_recovery(Recovery::fix_input("/path", "Give the path of a file that exists.")),
//!     );
//! let read = Operation::dynamic(read).with_handler(|_ctx, input| async move {
//!     match input["path"].as_str() {
//!         Some("a.md") => Ok(json!({"text": "hello"})),
//!         _ => Err(DynamicFailure::new("FILE_NOT_FOUND", json!({})))?,
//!     }
//! });
//! let registry = Registry::builder().add(read).build().unwrap();
//!
//! let nobody = Harness::new(registry);
//! let ada = nobody.as_caller(Caller::new("ada"));
//! assert_failure!(nobody.call("files.read", json!({"path": "a.md"})).await, AUTH_REQUIRED);
//! assert_failure!(ada.call("files.read", json!({"path": "b.md"})).await, FILE_NOT_FOUND);
//! let output = assert_ok!(ada.call("files.read", json!({"path": "a.md"})).await);
//! assert_eq!(output["text"], "hello");
//! # });
//! ```
//!
//! This is the one module of the crate that knows a file: the one that `REDRESS_COVERAGE` names, and the sources that
//! [`assert_registered!`] reads.

mod answer;
mod assert;
mod canary;
mod contracts;
mod coverage;
mod examples;
mod harness;
mod needle;
mod sources;
mod test_ctx;
mod watched_stream;

pub use answer::{CallAnswer, Collected};
pub use assert::{HasOutcome, expect_failure, expect_ok};
pub use canary::{Canary, CanaryReport, Leak};
pub use contracts::{BrokenPromise, Contracts, ContractsReport};
pub use coverage::{Coverage, Covered};
pub use examples::{BrokenExample, Examples, ExamplesReport};
pub use harness::Harness;
pub use sources::{Unregistered, expect_registered, unregistered};
pub use test_ctx::{TestCtx, ctx};
pub use watched_stream::WatchedStream;

#[doc(inline)]
pub use crate::__assert_failure as assert_failure;
#[doc(inline)]
pub use crate::__assert_ok as assert_ok;
#[doc(inline)]
pub use crate::__assert_registered as assert_registered;
