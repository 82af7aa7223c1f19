//! Which status and which waiting time go with a failure.

use redress_contract::{Kind, Problem};

/// The status of a bad ending: its own, where that is a status of a failure at all.
pub fn status(problem: &Problem) -> u16 {
    match problem.http {
        status @ 400..=599 => status,
        _ => problem.kind.http(),
    }
}

/// The seconds of `Retry-After`, where one belongs: on 429 and 503, when the wait is known or
/// the call may simply be made again. Rounded up, since a caller that comes too early
/// is refused again.
///
/// An unknown wait becomes one second: less would be no wait at all in whole seconds.
pub fn retry_after_seconds(problem: &Problem) -> Option<u64> {
    if !matches!(status(problem), 429 | 503) {
        return None;
    }
    match problem.retry_after_ms {
        Some(ms) => Some(ms.div_ceil(1000)),
        None => problem.retryable.then_some(1),
    }
}

/// What a failure of this kind is called in a few words: the `title` of its problem document,
/// the same for every occurrence.
pub const fn reason(kind: Kind) -> &'static str {
    match kind {
        Kind::Parse => "Not JSON",
        Kind::InvalidRequest => "Invalid request",
        Kind::MethodNotFound => "No such operation",
        Kind::InvalidParams => "Invalid input",
        Kind::Internal => "Internal fault",
        Kind::Unavailable => "Unavailable",
        Kind::NotFound => "Not found",
        Kind::Conflict => "Conflict",
        Kind::RateLimited => "Too many calls",
        Kind::Timeout => "Timed out",
        Kind::Forbidden => "Forbidden",
        Kind::Unauthorized => "Caller unknown",
        Kind::Validation => "Rule broken",
        Kind::Configuration => "Set up wrongly",
        Kind::Initialization => "Not started",
        Kind::Database => "Storage failed",
        Kind::Cancelled => "Cancelled",
        Kind::Serialization => "Value unreadable",
        Kind::Unknown => "Unknown fault",
    }
}
