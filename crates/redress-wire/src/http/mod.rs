//! How outcomes and contracts look over HTTP.

pub mod header;
mod openapi;
mod problem;
mod query;
mod status;

pub(crate) use openapi::engine_codes;
pub use openapi::{Info, openapi};
pub use problem::{CHALLENGE, PROBLEM_JSON, ProblemDocument, problem};
pub use query::{FlatInput, Parameter};
pub use status::{reason, retry_after_seconds, status};

use redress_contract::Name;

/// The path of an operation's own route.
///
/// ```
/// let name = redress_contract::Name::new("files.read").unwrap();
/// assert_eq!(redress_wire::http::path(&name), "/ops/files/read");
/// ```
pub fn path(name: &Name) -> String {
    format!("/ops/{}", name.as_str().replace('.', "/"))
}
