//! Why a document could not be read at all.

/// Why a document could not be read at all. What is odd in one place of it is a [`Warning`](crate::Warning) or a
/// [`Skipped`](crate::Skipped) operation and never one of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It has more bytes than are read.
    #[error("the document has {size} bytes, and at most {max} are read")]
    TooLarge {
        /// How many bytes it has.
        size: usize,
        /// The most that are read.
        max: usize,
    },
    /// It is neither JSON nor YAML.
    #[error("the document is neither JSON nor YAML: {reason}")]
    Syntax {
        /// What the parser says, with line and column.
        reason: String,
    },
    /// It nests deeper than is followed.
    #[error("the document nests deeper than {max} levels")]
    TooDeep {
        /// The most levels.
        max: usize,
    },
    /// Its aliases stand for more values than are kept.
    #[error("the document stands for more than {max} values")]
    TooManyValues {
        /// The most values.
        max: usize,
    },
    /// It has more operations than are imported.
    #[error("the document has more than {max} operations")]
    TooManyOperations {
        /// The most operations.
        max: usize,
    },
    /// It is no OpenAPI document.
    #[error("the document is not OpenAPI: {reason}")]
    NotOpenapi {
        /// What is missing or wrong.
        reason: String,
    },
    /// An overlay cannot be applied.
    #[error("the overlay cannot be applied")]
    Overlay(#[from] crate::OverlayError),
    /// A file beside the document could not be read.
    #[error("`{name}`, which the document refers to, could not be read")]
    File {
        /// The name by which it was given.
        name: String,
        /// Why.
        #[source]
        source: Box<ReadError>,
    },
}
