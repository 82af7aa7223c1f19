//! What an input *may be*: the schema of a type, decoding against it, and why a refused input was refused.
//!
//! **Invariant:** this crate is pure. It knows bytes, schemas and types, and no operation, caller, clock or runtime; and it
//! copies nothing of a refused value into an error, but names of fields and what a fix gives back to its sender.
//!
//! One promise holds it together: *what is advertised is what is accepted*. The schema of
//! an input is derived from its type ([`input_schema`]); registration turns it into an [`InputShape`],
//! which finds out by trial what the type checks by itself; [`decode`] then goes from bytes to the
//! type in one pass and checks the rest on the way. Only a refused call pays for [`explain`].
//!
//! ```
//! use redress_input::{DecodeError, InputShape, decode, explain, input_schema, pointer_of};
//!
//! #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
//! struct Search {
//!     query: String,
//!     limit: Option<u8>,
//! }
//!
//! let shape = InputShape::typed::<Search>(input_schema::<Search>())?;
//! let search: Search = decode(br#"{"query": "tea", "limit": 5}"#, &shape)?;
//! assert_eq!((search.query.as_str(), search.limit), ("tea", Some(5)));
//!
//! let refused = br#"{"query": "tea", "limt": 5}"#;
//! assert_eq!(decode::<Search>(refused, &shape).unwrap_err(), DecodeError::Refused);
//! let accepts = |bytes: &[u8]| decode::<Search>(bytes, &shape).is_ok();
//! let told = explain(refused, &shape, &accepts, &pointer_of::<Search>, &|| false);
//! assert_eq!(told.issues[0].pointer, "/limt");
//! assert_eq!(told.issues[0].near.as_deref(), Some("limit"));
//! assert_eq!(told.fix.unwrap()[0], serde_json::json!({"op": "move", "from": "/limt", "path": "/limit"}));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where type and schema part
//!
//! A value that the schema refuses is never accepted. The reverse has exceptions, each a type that
//! is stricter than what its schema can say or does say:
//!
//! - a field given twice is refused, while a schema never sees the first of the two;
//! - a hand-written or `try_from` decoder may refuse a value that its schema admits;
//! - keys of a map with integer keys have to fit the integer, where the schema says "digits";
//! - an integer of 128 bits is compared with its bounds by the validator after rounding to a double;
//! - an enum that serde buffers (untagged, or tagged inside) holds no integer of 128 bits.
//!
//! A serde `alias` is not in the schema, so the alias is refused.

mod bounds;
mod breach;
mod budget;
mod closed_objects;
mod decode;
mod digits;
mod duplicate_keys;
mod explain;
mod extent;
mod fix;
mod guide;
mod instance_path;
mod near_words;
mod node;
mod patch;
mod probe;
mod schema;
mod shape;
mod strict;
mod string_rules;
mod tree;
mod violation;
mod visit;
mod walk;
mod wording;

#[cfg(test)]
mod tests;

pub use breach::breach_of;
pub use decode::{DecodeError, accept, decode, document};
pub use explain::{Explanation, InputIssue, explain, pointer_of};
pub use extent::{Beyond, Extent};
pub use schema::{input_schema, output_schema};
pub use shape::{InputShape, SchemaError};
