//! Asking the caller something while the call runs.
//!
//! A handler asks with [`Ctx::ask`]. How the question gets there is the face's matter, and there
//! are two ways. A face with a way back to the caller answers while the handler waits ([`Asker`]).
//! A face without one ends the call with what was asked, and the caller makes the same call again
//! with the answers: the handler then runs from its start, and each question that has been answered
//! is answered at once ([`Conversation`]).
//!
//! Why so: docs/decisions/0017-asking.md.

mod answer;
mod asker;
mod asking;
mod conversation;
mod form;
mod question;

pub use answer::{Answer, Root, Sampled};
pub use asker::{AskError, Asker};
pub(crate) use asking::{AskContext, Round};
pub use conversation::{Conversation, StateError};
pub use form::{Field, Form};
pub use question::{Question, QuestionKind, Sample};
