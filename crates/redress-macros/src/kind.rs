//! The closed set of kinds, as they are spelled in attributes and in the contract.

/// One kind.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The word in the attribute and on the wire.
    pub(crate) word: &'static str,
    /// The variant of the contract's `Kind`.
    pub(crate) variant: &'static str,
    /// Whether time alone can heal it.
    pub(crate) retryable: bool,
}

const fn lasting(word: &'static str, variant: &'static str) -> Kind {
    Kind { word, variant, retryable: false }
}

const fn passing(word: &'static str, variant: &'static str) -> Kind {
    Kind { word, variant, retryable: true }
}

/// Every kind.
pub(crate) static KINDS: [Kind; 19] = [
    lasting("parse", "Parse"),
    lasting("invalid_request", "InvalidRequest"),
    lasting("method_not_found", "MethodNotFound"),
    lasting("invalid_params", "InvalidParams"),
    lasting("internal", "Internal"),
    passing("unavailable", "Unavailable"),
    lasting("not_found", "NotFound"),
    lasting("conflict", "Conflict"),
    passing("rate_limited", "RateLimited"),
    passing("timeout", "Timeout"),
    lasting("forbidden", "Forbidden"),
    lasting("unauthorized", "Unauthorized"),
    lasting("validation", "Validation"),
    lasting("configuration", "Configuration"),
    lasting("initialization", "Initialization"),
    lasting("database", "Database"),
    lasting("cancelled", "Cancelled"),
    lasting("serialization", "Serialization"),
    lasting("unknown", "Unknown"),
];
