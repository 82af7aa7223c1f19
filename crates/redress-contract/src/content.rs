//! Whether an operation runs code that it is given.

use serde::{Deserialize, Serialize};

/// Whether an operation runs code that it is given. There is no third way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case", from = "ContentDocument")]
pub enum Content {
    /// It does not.
    Plain,
    /// It does, and a content guard for the language looks at the source first.
    Eval {
        /// The member of the input that holds the source.
        source: String,
        /// The language that the source is in.
        language: String,
    },
}

/// A content class as a document holds it. serde refuses the members that a class does not
/// have only on variants that may have some.
#[derive(Deserialize)]
#[serde(tag = "class", rename_all = "snake_case", deny_unknown_fields)]
enum ContentDocument {
    Plain {},
    Eval { source: String, language: String },
}

impl From<ContentDocument> for Content {
    fn from(document: ContentDocument) -> Content {
        match document {
            ContentDocument::Plain {} => Content::Plain,
            ContentDocument::Eval { source, language } => Content::Eval { source, language },
        }
    }
}
