//! How a face answers while the handler waits, and why it may not be able to.

use super::{Answer, Question, QuestionKind};
use crate::author::handler::BoxFuture;

/// A way to the caller that answers while the handler waits; a face gives one to a request.
pub trait Asker: Send + Sync + 'static {
    /// Whether the caller can be asked this sort of question.
    fn can(&self, kind: QuestionKind) -> bool;

    /// Asks. `key` tells the questions of one call apart. The future is dropped when the call
    /// is cancelled or its deadline passes.
    fn ask<'a>(&'a self, key: &'a str, question: &'a Question) -> BoxFuture<'a, Result<Answer, AskError>>;
}

/// Why a question has no answer. A handler may go on without one; `?` ends the call, and
/// the caller learns that this operation asks what it cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// Nobody can be asked, or not this.
    #[error("the caller cannot be asked this ({})", .0.as_str())]
    Unable(QuestionKind),
    /// What the caller answered does not fit the question, however often it was asked.
    #[error("the answer to `{id}` does not fit the question")]
    Unfit {
        /// The question.
        id: String,
    },
    /// The caller has gone.
    #[error("the caller has gone")]
    Gone,
    /// One call asks too much.
    #[error("one call asks too many questions")]
    TooMany,
}
