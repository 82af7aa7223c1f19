//! What comes back when the caller is asked.

use redress_contract::{Block, Speaker};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// What comes back when the caller is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What was asked for: the filled-in form, what the model said, the roots; whatever it is,
    /// it fits the question.
    Accepted(Value),
    /// The person said no.
    Declined,
    /// The person went away without an answer.
    Cancelled,
}

impl Answer {
    /// What was asked for, where the answer is yes.
    pub fn accepted(&self) -> Option<&Value> {
        match self {
            Answer::Accepted(value) => Some(value),
            Answer::Declined | Answer::Cancelled => None,
        }
    }

    /// What was asked for, as a value of `T`; nothing where the answer is not yes.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(self.accepted()?).ok()
    }

    /// What the model said, for a sample.
    pub fn sampled(&self) -> Option<Sampled> {
        self.read()
    }

    /// Where the caller works, for roots.
    pub fn roots(&self) -> Option<Vec<Root>> {
        self.read()
    }
}

/// What the caller's model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sampled {
    /// Who says it.
    pub role: Speaker,
    /// What is said.
    pub content: Block,
    /// Which model it was.
    pub model: String,
    /// Why it stopped.
    #[serde(default, rename = "stopReason", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// A place in which the caller works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Where it is.
    pub uri: String,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
