//! How a document is read, and how much of it.

use std::collections::BTreeMap;

use crate::Overlay;

/// How a document is read.
///
/// ```
/// use redress_import::ReadOptions;
///
/// let options = ReadOptions { prefix: Some("github".to_owned()), ..ReadOptions::default() };
/// assert_eq!(options.limits.bytes, 64 << 20);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Put before the name of every operation, as a segment of its own: `github` makes `github.issues.update`.
    pub prefix: Option<String>,
    /// Namespaces that somebody else owns: an operation that would have one of them gets `_api` behind it.
    pub reserved: Vec<String>,
    /// Files beside the document, by the name with which references lead to them, relative to the document:
    /// `schemas/order.yaml`. [`openapi::needs`](crate::openapi::needs) tells which.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Changes that are made to the document before it is read, in this order.
    pub overlays: Vec<Overlay>,
    /// How much is read.
    pub limits: Limits,
    /// How large the schemas of operations may be.
    pub budget: Budget,
}

/// How much of a document is read. What is over a limit is refused with a [`ReadError`](crate::ReadError).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a document, the files beside it included.
    pub bytes: usize,
    /// The most values that it may stand for, aliases of YAML written out.
    pub values: usize,
    /// The most operations.
    pub operations: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 64 << 20, values: 8_000_000, operations: 20_000 }
    }
}

/// How large the schemas of an operation may be, in bytes of compact JSON with every reference put in place. A schema that
/// is larger is cut: open where it ends, so that it admits whatever the whole one admits. The whole one is given by
/// [`Import::full_input`](crate::Import::full_input) and its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How deep schemas nest.
    pub depth: usize,
    /// The most bytes of an input schema.
    pub input: usize,
    /// The most bytes of an output schema.
    pub output: usize,
    /// The most bytes of the schema of a failure's details.
    pub details: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { depth: 8, input: 6 << 10, output: 3 << 10, details: 768 }
    }
}
