//! How a call ended, as its client saw it.

use std::time::Duration;

use serde_json::Value;

/// How a call ended, as its client saw it: the same whatever way it took.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    /// Well. A stream gives the number of its items.
    Output(Value),
    /// Badly, and it was told so.
    Failure(ObservedFailure),
    /// The connection ended before an answer came.
    Cut(String),
    /// Nothing came for as long as a client waits.
    Silent,
}

/// A failure, as far as the soak looks at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObservedFailure {
    pub(crate) code: String,
    pub(crate) retry_after_ms: Option<u64>,
    /// When an allowance is whole again that has nothing left.
    pub(crate) renews_at: Option<String>,
}

impl Ending {
    /// Whether the client was answered.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(self, Ending::Output(_) | Ending::Failure(_))
    }

    /// The code, as records have it: nothing for a good end. `None` where there was no answer.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Ending::Failure(told) => Some(&told.code),
            Ending::Output(_) | Ending::Cut(_) | Ending::Silent => None,
        }
    }

    /// Whether the call was turned away for want of room, which says nothing about what it asked for.
    pub(crate) fn is_turned_away(&self) -> bool {
        matches!(self.code(), Some("OVERLOADED" | "RATE_LIMITED" | "QUOTA_EXHAUSTED"))
    }

    /// For how long it was turned away.
    pub(crate) fn turned_away_for(&self) -> Option<Duration> {
        match self {
            Ending::Failure(told) if self.is_turned_away() => {
                Some(Duration::from_millis(told.retry_after_ms.unwrap_or(1_000)))
            }
            Ending::Output(_) | Ending::Failure(_) | Ending::Cut(_) | Ending::Silent => None,
        }
    }

    /// The ending that an envelope, a problem document or the data of an error tells.
    pub(crate) fn of_envelope(envelope: &Value) -> Ending {
        match envelope["code"].as_str() {
            Some(code) => Ending::Failure(ObservedFailure {
                code: code.to_owned(),
                retry_after_ms: envelope["retry_after_ms"].as_u64(),
                renews_at: envelope["details"]["renews_at"].as_str().map(str::to_owned),
            }),
            None if envelope["ok"] == true => Ending::Output(envelope["result"].clone()),
            None => Ending::Cut(format!("an answer that is no envelope: {}", shortened(envelope))),
        }
    }
}

pub(crate) fn shortened(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}
