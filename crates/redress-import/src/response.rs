//! What an operation of a document may answer.

use std::fmt;

use redress_contract::{Code, Schema};
use serde::{Deserialize, Serialize};

/// What an answer with one status, or with one of several, is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponsePlan {
    /// Which statuses.
    pub status: StatusPattern,
    /// The failure that such an answer is; none for a success.
    ///
    /// The details of the failure are an object: `status` (the status that came), `reason` (the service's own code if the
    /// body has one at one of [`reasons`](ResponsePlan::reasons), else the reason phrase of the status), `body` where there
    /// is one, `retry_after_ms` where it is known and the failure is retryable, `headers` for those in
    /// [`headers`](ResponsePlan::headers) that came, and the members of [`bound`](ResponsePlan::bound).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What the body may be. Empty where the document does not say that there is one.
    pub content: Vec<ContentPlan>,
    /// Headers that are worth telling the caller, in lower case: `location`, `link`, those of rates, and such.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Where in a JSON body the service's own code may be, as RFC 6901 pointers, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Members of the details that are there because a recovery needs them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<BoundDetail>,
    /// Whether the document does not say it in so many words: a status below a range or the default, told apart because
    /// something else helps then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
}

impl ResponsePlan {
    /// Whether it is a success.
    pub fn is_success(&self) -> bool {
        self.code.is_none()
    }

    /// What the document says of a body of this media type: the exact type first, then ranges such as `text/*`.
    pub fn content_of(&self, media_type: &str) -> Option<&ContentPlan> {
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let main = essence.split('/').next().unwrap_or_default();
        let exact = self.content.iter().find(|content| content.essence() == essence);
        exact
            .or_else(|| self.content.iter().find(|content| content.essence().strip_suffix("/*") == Some(main)))
            .or_else(|| self.content.iter().find(|content| content.essence() == "*/*"))
    }
}

/// Which statuses a response of a document is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StatusPattern {
    /// This one: `404`.
    Exact(u16),
    /// All that begin with this digit: `4XX`.
    Range(u8),
    /// All others: `default`.
    Default,
}

impl StatusPattern {
    /// Reads it as a document says it, in any case.
    pub fn parse(text: &str) -> Option<StatusPattern> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("default") {
            return Some(StatusPattern::Default);
        }
        let [first @ b'1'..=b'9', rest @ ..] = text.as_bytes() else { return None };
        match rest {
            [b'x' | b'X', b'x' | b'X'] => Some(StatusPattern::Range(first - b'0')),
            [b'0'..=b'9', b'0'..=b'9'] => text.parse().ok().map(StatusPattern::Exact),
            _ => None,
        }
    }

    /// Whether it is for this status.
    pub fn covers(self, status: u16) -> bool {
        match self {
            StatusPattern::Exact(exact) => exact == status,
            StatusPattern::Range(digit) => status / 100 == u16::from(digit),
            StatusPattern::Default => true,
        }
    }

    /// How many it is for, compared with others.
    pub(crate) const fn breadth(self) -> u8 {
        match self {
            StatusPattern::Exact(_) => 0,
            StatusPattern::Range(_) => 1,
            StatusPattern::Default => 2,
        }
    }
}

impl fmt::Display for StatusPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatusPattern::Exact(status) => write!(f, "{status}"),
            StatusPattern::Range(digit) => write!(f, "{digit}XX"),
            StatusPattern::Default => f.write_str("default"),
        }
    }
}

impl From<StatusPattern> for String {
    fn from(status: StatusPattern) -> String {
        status.to_string()
    }
}

impl TryFrom<String> for StatusPattern {
    type Error = String;

    fn try_from(text: String) -> Result<StatusPattern, String> {
        StatusPattern::parse(&text).ok_or_else(|| format!("`{text}` is no status, no range of them and not `default`"))
    }
}

/// What a body of one media type is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentPlan {
    /// The media type, as the document says it.
    pub media_type: String,
    /// How the bytes become a value.
    pub kind: BodyKind,
    /// What that value is, cut to the budget, for a failure. What a success is, the operation's output says.
    pub schema: Schema,
}

impl ContentPlan {
    /// The media type without parameters, in lower case.
    pub fn essence(&self) -> String {
        self.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}

/// How the bytes of a body become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// It is JSON.
    Json,
    /// It is JSON, and a problem document (RFC 9457).
    Problem,
    /// It is text, and the value is a string.
    Text,
    /// It is `application/x-www-form-urlencoded`, and the value is an object.
    Form,
    /// It is a stream of server-sent events.
    Events,
    /// It is a stream of JSON texts, one a line or with separators between them.
    JsonLines,
    /// It is anything else, and the value is an object with `media_type` and `base64`.
    Bytes,
}

/// A member of the input that is among the details of a failure, because a recovery needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundDetail {
    /// The member of the details.
    pub member: String,
    /// The member of the input.
    pub field: String,
}
