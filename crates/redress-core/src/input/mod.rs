//! Input: what an operation accepts, and what it tells a caller whose input it refused.
//!
//! One promise holds this folder together: *what is advertised is what is accepted*. The schema of
//! an input is derived from its type ([`input_schema`]); registration turns it into a [`InputShape`],
//! which finds out by trial what the type checks by itself; [`decode`] then goes from bytes to the
//! type in one pass and checks the rest on the way. Only a refused call pays for [`explain`].
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
//!
//! Absent on purpose: any text of the refused value. Nothing here copies it into an error.

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

pub(crate) use breach::breach_of;
pub(crate) use decode::{DecodeError, accept, decode, document};
pub(crate) use explain::{Explanation, InputIssue, explain, pointer_of};
pub(crate) use extent::{Beyond, Extent};
pub(crate) use schema::{input_schema, output_schema};
pub(crate) use shape::{InputShape, SchemaError};
