//! What may refuse a call just before its handler: guards and content guards.

use redress_contract::{Caller, FailureDeclaration, OperationDeclaration, RequestId};
use serde_json::Value;

use crate::author::handler::BoxFuture;

/// A call that a guard looks at. Its input has passed the schema.
#[derive(Debug)]
pub struct GuardedCall<'a> {
    /// The operation that is called.
    pub operation: &'a OperationDeclaration,
    /// Who calls.
    pub caller: Option<&'a Caller>,
    /// The name of the call.
    pub request_id: &'a RequestId,
    /// The input, as JSON.
    pub input: &'a [u8],
}

/// What a guard says against a call: one of its own declared failures.
#[derive(Clone, Debug)]
pub struct Veto {
    pub(crate) code: String,
    pub(crate) details: Value,
}

impl Veto {
    /// Refuses with the guard's failure `code`.
    pub fn new(code: &str, details: Value) -> Veto {
        Veto { code: code.to_owned(), details }
    }
}

/// That a guard could not tell. Whether the call may go on then is the guard's declaration.
#[derive(Debug, thiserror::Error)]
#[error("the guard could not tell")]
pub struct GuardBroken(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// What a guard decides when it cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenBroken {
    /// The call is refused, with INTERNAL.
    #[default]
    Refuse,
    /// The call goes on.
    Allow,
}

/// A layer that may refuse calls. Its failures join those of every operation it covers.
pub trait Guard: Send + Sync + 'static {
    /// What the layer is called in documents and logs.
    fn name(&self) -> &str;

    /// The failures it refuses with.
    fn failures(&self) -> Vec<FailureDeclaration>;

    /// Whether it looks at this operation at all.
    fn covers(&self, operation: &OperationDeclaration) -> bool {
        let _ = operation;
        true
    }

    /// What happens when it cannot tell, or panics.
    fn when_broken(&self) -> WhenBroken {
        WhenBroken::Refuse
    }

    /// Lets the call pass, or refuses it.
    fn check<'a>(&'a self, call: &'a GuardedCall<'a>) -> BoxFuture<'a, Result<Option<Veto>, GuardBroken>>;
}

/// Why a content guard refuses source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocked {
    /// A keyword is forbidden.
    Keyword(String),
    /// A construct is forbidden.
    Construct(String),
    /// The source cannot be parsed, so nobody can vouch for it.
    Unparsable,
}

/// What looks at source before an operation runs it.
pub trait ContentGuard: Send + Sync + 'static {
    /// The language it reads.
    fn language(&self) -> &str;

    /// Lets the source pass, or refuses it. The reason names the construct, never the source.
    fn check(&self, source: &str) -> Result<(), Blocked>;
}
