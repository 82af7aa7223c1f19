//! The closed set of kinds: what a client that does not know a code falls back to.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What sort of bad ending a failure is.
///
/// The set is closed: a client that meets a code it has never seen still knows what
/// to do with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The message is not JSON.
    Parse,
    /// The message is JSON, but not a request this face can take.
    InvalidRequest,
    /// There is no operation of that name.
    MethodNotFound,
    /// The input breaks the operation's schema.
    InvalidParams,
    /// A bug, or broken surroundings.
    Internal,
    /// A dependency is down or out of capacity.
    Unavailable,
    /// The thing asked for does not exist.
    NotFound,
    /// A duplicate, or a clash of versions.
    Conflict,
    /// Too many requests.
    RateLimited,
    /// A time limit was hit.
    Timeout,
    /// The caller is known and may not.
    Forbidden,
    /// The caller is not known.
    Unauthorized,
    /// The input fits the schema and breaks a business rule.
    Validation,
    /// The service is set up wrongly.
    Configuration,
    /// The service did not start.
    Initialization,
    /// Persistence failed.
    Database,
    /// The caller went away.
    Cancelled,
    /// A value could not be written or read.
    Serialization,
    /// Nothing better is known.
    Unknown,
}

/// Whose side a failure is on, for dashboards and alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Something this service leans on.
    Upstream,
    /// This service itself.
    Server,
    /// What the caller sent, or may do.
    Client,
}

impl Kind {
    /// Every kind, in the order of the design's table.
    pub const ALL: [Kind; 19] = [
        Kind::Parse,
        Kind::InvalidRequest,
        Kind::MethodNotFound,
        Kind::InvalidParams,
        Kind::Internal,
        Kind::Unavailable,
        Kind::NotFound,
        Kind::Conflict,
        Kind::RateLimited,
        Kind::Timeout,
        Kind::Forbidden,
        Kind::Unauthorized,
        Kind::Validation,
        Kind::Configuration,
        Kind::Initialization,
        Kind::Database,
        Kind::Cancelled,
        Kind::Serialization,
        Kind::Unknown,
    ];

    /// The kind as it is spelled on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Parse => "parse",
            Kind::InvalidRequest => "invalid_request",
            Kind::MethodNotFound => "method_not_found",
            Kind::InvalidParams => "invalid_params",
            Kind::Internal => "internal",
            Kind::Unavailable => "unavailable",
            Kind::NotFound => "not_found",
            Kind::Conflict => "conflict",
            Kind::RateLimited => "rate_limited",
            Kind::Timeout => "timeout",
            Kind::Forbidden => "forbidden",
            Kind::Unauthorized => "unauthorized",
            Kind::Validation => "validation",
            Kind::Configuration => "configuration",
            Kind::Initialization => "initialization",
            Kind::Database => "database",
            Kind::Cancelled => "cancelled",
            Kind::Serialization => "serialization",
            Kind::Unknown => "unknown",
        }
    }

    /// The kind spelled `word` on the wire.
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The status a failure of this kind has unless it declares its own.
    pub const fn http(self) -> u16 {
        match self {
            Kind::Parse | Kind::InvalidRequest | Kind::InvalidParams => 400,
            Kind::Unauthorized => 401,
            Kind::Forbidden => 403,
            Kind::MethodNotFound | Kind::NotFound => 404,
            Kind::Conflict => 409,
            Kind::Validation => 422,
            Kind::RateLimited => 429,
            Kind::Cancelled => 499,
            Kind::Internal
            | Kind::Configuration
            | Kind::Initialization
            | Kind::Database
            | Kind::Serialization
            | Kind::Unknown => 500,
            Kind::Unavailable => 503,
            Kind::Timeout => 504,
        }
    }

    /// Whether time alone can heal a failure of this kind.
    pub const fn retryable(self) -> bool {
        matches!(self, Kind::Unavailable | Kind::RateLimited | Kind::Timeout)
    }

    /// Whose side a failure of this kind is on.
    pub const fn category(self) -> Category {
        match self {
            Kind::Unavailable | Kind::RateLimited | Kind::Timeout => Category::Upstream,
            Kind::Internal
            | Kind::Unknown
            | Kind::Database
            | Kind::Configuration
            | Kind::Initialization
            | Kind::Serialization => Category::Server,
            Kind::Parse
            | Kind::InvalidRequest
            | Kind::MethodNotFound
            | Kind::InvalidParams
            | Kind::NotFound
            | Kind::Conflict
            | Kind::Forbidden
            | Kind::Unauthorized
            | Kind::Validation
            | Kind::Cancelled => Category::Client,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_spelling_and_serde_agree() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
        }
    }

    #[test]
    fn time_heals_exactly_the_upstream_kinds() {
        for kind in Kind::ALL {
            assert_eq!(kind.retryable(), kind.category() == Category::Upstream, "{kind}");
        }
    }
}
