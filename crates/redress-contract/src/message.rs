//! What a prompt gives: messages that open a conversation with a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Block;

/// The output of a prompt: messages that open a conversation with a model.
///
/// ```
/// use redress_contract::{Block, PromptMessage, PromptMessages};
///
/// let review = PromptMessages::new([PromptMessage::user(Block::text("Review this file."))]);
/// let json = serde_json::to_value(&review).unwrap();
/// assert_eq!(json["messages"][0]["role"], "user");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PromptMessages {
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Who says it.
    pub role: Speaker,
    /// What is said.
    pub content: Block,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl PromptMessages {
    /// These messages.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> PromptMessages {
        PromptMessages { messages: messages.into_iter().collect() }
    }
}

impl PromptMessage {
    /// The person says `content`.
    pub fn user(content: impl Into<Block>) -> PromptMessage {
        PromptMessage { role: Speaker::User, content: content.into() }
    }

    /// The model says `content`.
    pub fn assistant(content: impl Into<Block>) -> PromptMessage {
        PromptMessage { role: Speaker::Assistant, content: content.into() }
    }
}
