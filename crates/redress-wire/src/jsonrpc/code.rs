//! The one place where a failure meets JSON-RPC.

use redress_contract::Kind;

/// The number of a kind as a JSON-RPC error code.
pub const fn number(kind: Kind) -> i32 {
    match kind {
        Kind::Parse => -32700,
        Kind::InvalidRequest => -32600,
        Kind::MethodNotFound => -32601,
        Kind::InvalidParams => -32602,
        Kind::Internal => -32603,
        Kind::Unavailable => -32000,
        Kind::NotFound => -32001,
        Kind::Conflict => -32002,
        Kind::RateLimited => -32003,
        Kind::Timeout => -32004,
        Kind::Forbidden => -32005,
        Kind::Unauthorized => -32006,
        Kind::Validation => -32007,
        Kind::Configuration => -32008,
        Kind::Initialization => -32009,
        Kind::Database => -32010,
        Kind::Cancelled => -32011,
        Kind::Serialization => -32070,
        Kind::Unknown => -32099,
    }
}

/// The kind that a JSON-RPC error code stands for, for a client that has the number only.
pub fn kind(number: i32) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| self::number(*kind) == number)
}
