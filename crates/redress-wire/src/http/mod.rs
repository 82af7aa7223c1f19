//! How outcomes and contracts look over HTTP.

mod authority;
mod challenge;
mod deprecation;
pub mod header;
mod openapi;
mod problem;
mod query;
mod rate_limit;
mod status;

pub use authority::is_local_authority;
pub use challenge::{CHALLENGE, INVALID_TOKEN, challenge, insufficient_scope};
pub use deprecation::{DEPRECATION, LINK, SUNSET, deprecation};
pub use openapi::{Info, openapi};
pub(crate) use openapi::{answered, engine_codes};
pub use problem::{PROBLEM_JSON, ProblemDocument, problem};
pub use query::{FlatInput, Parameter};
pub use rate_limit::{RateLimitFields, rate_limit};
pub use status::{reason, retry_after_seconds, status};

use redress_contract::Name;

/// The media type of an operation's declaration. Who accepts it gets the declaration from a
/// path where a plain `GET` is a call.
pub const OPERATION_JSON: &str = "application/vnd.redress.operation+json";

/// The path of an operation's own route.
///
/// ```
/// let name = redress_contract::Name::new("files.read").unwrap();
/// assert_eq!(redress_wire::http::path(&name), "/ops/files/read");
/// ```
pub fn path(name: &Name) -> String {
    format!("/ops/{}", name.as_str().replace('.', "/"))
}
