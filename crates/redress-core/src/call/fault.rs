//! What came about that nobody declared, for those who watch.

use redress_contract::EngineCode;

/// How a call came to an end that its operation does not declare. A caller is not told which; the
/// log and the observers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The handler ended with a failure that the operation does not declare.
    Undeclared,
    /// What the handler gave, an output or the details of a failure, breaks the contract.
    Output,
    /// Code of the author's panicked.
    Panic,
    /// An error from below, or a broken part around the handler, was contained.
    Contained,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 4] = [Fault::Undeclared, Fault::Output, Fault::Panic, Fault::Contained];

    /// Its name in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Fault::Undeclared => "undeclared",
            Fault::Output => "output",
            Fault::Panic => "panic",
            Fault::Contained => "contained",
        }
    }

    /// The fault that an engine code stands for by itself.
    pub(crate) fn of(code: EngineCode) -> Option<Fault> {
        match code {
            EngineCode::Internal => Some(Fault::Contained),
            EngineCode::InvalidOutput => Some(Fault::Output),
            EngineCode::NotFound
            | EngineCode::AuthRequired
            | EngineCode::Forbidden
            | EngineCode::ConsentRequired
            | EngineCode::InvalidInput
            | EngineCode::InvalidOperationType
            | EngineCode::EvalBlockedKeyword
            | EngineCode::EvalBlockedConstruct
            | EngineCode::EvalUnparsable
            | EngineCode::PayloadTooLarge
            | EngineCode::RateLimited
            | EngineCode::Overloaded
            | EngineCode::QuotaExhausted
            | EngineCode::IdempotencyConflict
            | EngineCode::OutcomeUnknown
            | EngineCode::Timeout
            | EngineCode::Cancelled
            | EngineCode::ResultTooLarge
            | EngineCode::HandlerNotBound
            | EngineCode::StreamOverflow
            | EngineCode::ParseError
            | EngineCode::InvalidRequest
            | EngineCode::UpstreamUnreachable
            | EngineCode::UpstreamUndeclared
            | EngineCode::CredentialsRequired
            | EngineCode::ContractChanged => None,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
