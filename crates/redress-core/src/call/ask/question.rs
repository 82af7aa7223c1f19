//! What a handler may ask its caller.

use redress_contract::{EngineCode, PromptMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Answer, Form, Root, Sampled};

/// What a handler asks its caller.
///
/// ```
/// use redress_core::{Field, Form, Question, QuestionKind};
///
/// let question = Question::form("What is your name?", Form::new().field("name", Field::text()));
/// assert_eq!(question.kind(), QuestionKind::Form);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Question {
    /// A form for the person.
    Form {
        /// What the person reads above it.
        message: String,
        /// The form.
        form: Form,
    },
    /// A page that the person is sent to: a sign-in, a payment.
    Url {
        /// What the person reads before going there.
        message: String,
        /// The page.
        url: String,
    },
    /// Something for the caller's model to say.
    Sample(Sample),
    /// Where the caller works.
    Roots,
}

/// What sort of question it is. Not every caller can be asked everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A form for the person.
    Form,
    /// A page that the person is sent to.
    Url,
    /// Something for the caller's model to say.
    Sample,
    /// Where the caller works.
    Roots,
}

/// What the caller's model is asked to say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The conversation so far.
    pub messages: Vec<PromptMessage>,
    /// What the model is told beforehand.
    pub system_prompt: Option<String>,
    /// How much it may say.
    pub max_tokens: u32,
}

impl Question {
    /// A form for the person.
    pub fn form(message: impl Into<String>, form: Form) -> Question {
        Question::Form { message: message.into(), form }
    }

    /// A page that the person is sent to.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Question {
        Question::Url { message: message.into(), url: url.into() }
    }

    /// Something for the caller's model to say.
    pub fn sample(messages: impl IntoIterator<Item = PromptMessage>, max_tokens: u32) -> Question {
        Question::Sample(Sample { messages: messages.into_iter().collect(), system_prompt: None, max_tokens })
    }

    /// Where the caller works.
    pub fn roots() -> Question {
        Question::Roots
    }

    /// What sort of question it is.
    pub fn kind(&self) -> QuestionKind {
        match self {
            Question::Form { .. } => QuestionKind::Form,
            Question::Url { .. } => QuestionKind::Url,
            Question::Sample(_) => QuestionKind::Sample,
            Question::Roots => QuestionKind::Roots,
        }
    }

    /// Whether `answer` answers this question. A face that talks to the caller does not need
    /// to look: what does not fit is asked again.
    pub fn takes(&self, answer: &Answer) -> bool {
        let Some(value) = answer.accepted() else { return true };
        match self {
            Question::Form { form, .. } => form.takes(value),
            Question::Url { .. } => true,
            Question::Sample(_) => Sampled::deserialize(value).is_ok(),
            Question::Roots => Vec::<Root>::deserialize(value).is_ok(),
        }
    }

    /// What tells two questions apart, so that the answer to one is never taken for the other.
    pub(super) fn digest(&self) -> String {
        let value = match self {
            Question::Form { message, form } => serde_json::json!(["form", message, form.schema()]),
            Question::Url { message, url } => serde_json::json!(["url", message, url]),
            Question::Sample(Sample { messages, system_prompt, max_tokens }) => {
                serde_json::json!(["sample", messages, system_prompt, max_tokens])
            }
            Question::Roots => serde_json::json!(["roots"]),
        };
        hex(&Sha256::digest(value.to_string()))
    }
}

impl QuestionKind {
    /// Every kind.
    pub const ALL: [QuestionKind; 4] =
        [QuestionKind::Form, QuestionKind::Url, QuestionKind::Sample, QuestionKind::Roots];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            QuestionKind::Form => "form",
            QuestionKind::Url => "url",
            QuestionKind::Sample => "sample",
            QuestionKind::Roots => "roots",
        }
    }

    /// The kind of question that a call could not ask and therefore ended with `problem`.
    pub fn missing_in(problem: &redress_contract::Problem) -> Option<QuestionKind> {
        // No declared failure has this code, so the details are the engine's own.
        if problem.code.as_str() != EngineCode::InvalidOperationType.as_str() {
            return None;
        }
        let details: Value = serde_json::from_str(problem.details.as_ref()?.get()).ok()?;
        QuestionKind::deserialize(details.get("asks")?).ok()
    }
}

impl Sample {
    /// Says what the model is told beforehand.
    #[must_use]
    pub fn with_system_prompt(mut self, text: impl Into<String>) -> Sample {
        self.system_prompt = Some(text.into());
        self
    }

    /// A question of one sentence.
    pub fn text(text: impl Into<String>, max_tokens: u32) -> Sample {
        let message = PromptMessage::user(redress_contract::Block::text(text));
        Sample { messages: vec![message], system_prompt: None, max_tokens }
    }
}

impl From<Sample> for Question {
    fn from(sample: Sample) -> Question {
        Question::Sample(sample)
    }
}

/// The first half of a digest in hexadecimal: enough to tell questions apart.
pub(super) fn hex(digest: &[u8]) -> String {
    use std::fmt::Write as _;
    digest.iter().take(16).fold(String::with_capacity(32), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
