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

use redress_contract::{Breach, Name};

/// The media type of an operation's declaration. Who accepts it gets the declaration from a
/// path where a plain `GET` is a call.
pub const OPERATION_JSON: &str = "application/vnd.redress.operation+json";

/// The mark of an output that breaks its schema, as a header tells it: the rule, and the pointer with everything encoded
/// that a header may not hold.
///
/// ```
/// use redress_contract::Breach;
/// use redress_wire::http::output_breach;
///
/// let breach = Breach { pointer: "/größe/0".to_owned(), rule: "type".to_owned() };
/// assert_eq!(output_breach(&breach), "type /gr%C3%B6%C3%9Fe/0");
/// ```
pub fn output_breach(Breach { pointer, rule }: &Breach) -> String {
    /// Longer ones say no more to anybody.
    const MAX_LENGTH: usize = 512;
    let mut text = format!("{rule} ");
    for byte in pointer.bytes().take(MAX_LENGTH) {
        if byte.is_ascii_graphic() && byte != b'%' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The path of an operation's own route.
///
/// ```
/// let name = redress_contract::Name::new("files.read").unwrap();
/// assert_eq!(redress_wire::http::path(&name), "/ops/files/read");
/// ```
pub fn path(name: &Name) -> String {
    format!("/ops/{}", name.as_str().replace('.', "/"))
}
