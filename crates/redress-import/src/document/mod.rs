//! A document as a tree: JSON or YAML, in the order in which it was written.
//!
//! `serde_json::Value` sorts the members of its objects here, and operations are told in the order of their document, so
//! the tree is one of our own.

mod nesting;
mod node;
mod parse;
pub(crate) mod pointer;

pub(crate) use node::{Members, Node};
pub(crate) use parse::parse;
