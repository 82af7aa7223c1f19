//! What a document suggests: calls that help after a failure, and successes that are none.

use redress_contract::{Binding, Code, Done, Name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that helps after a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextCall {
    /// The failures after which it helps.
    pub codes: Vec<Code>,
    /// The operation to call.
    pub operation: Name,
    /// Which of its input members come from which members of this operation's input.
    pub bind: Vec<Binding>,
    /// Why it helps, in a few words.
    pub why: String,
    /// What in the document shows it.
    pub origin: NextCallOrigin,
    /// Whether its answer shows if a write took place. With [`done`](NextCall::done) it is a verification; without, the
    /// caller has to look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verifies: bool,
    /// How its answer shows it, where the document leaves no doubt, or as an operator has said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Done>,
    /// Whether an operator has refused it: it is in no recovery then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

/// What in a document shows that a call helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextCallOrigin {
    /// A link of the response.
    Link,
    /// The shape of the paths: `/things/{id}` lies below `/things`.
    Path,
    /// An operator's override.
    Override,
}

/// What turns an answer that HTTP calls a success into a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailsWhen {
    /// Where to look in the body, as an RFC 6901 pointer.
    pub pointer: String,
    /// What has to stand there.
    pub test: Test,
    /// The failure that it is then.
    pub code: Code,
    /// Members of the body that are told, as RFC 6901 pointers; the whole body where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What in the document shows it, as an RFC 6901 pointer; none for an operator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

impl FailsWhen {
    /// The code of a success that is none, unless an operator chooses another.
    pub const CODE: &str = "SERVICE_SAID_NO";
}

/// What has to stand in a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// This value.
    Is(Value),
    /// With `true` anything but null, an empty array or an empty object; with `false` none of that.
    Exists(bool),
    /// A string that this regular expression matches.
    Matches(String),
}
