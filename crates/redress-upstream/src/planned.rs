//! An operation of a document, with everything that its calls have in common.

use redress_contract::{Effect, Shape};
use redress_import::ImportedOperation;
use reqwest::Url;

use crate::fails_when::FailsWhenRule;

/// An operation, ready to be called.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) imported: ImportedOperation,
    /// Where it is served.
    pub(crate) base: Url,
    /// What makes a success none.
    pub(crate) rules: Vec<FailsWhenRule>,
}

impl Planned {
    /// Whether a request of it may change something. A stream that is asked for by POST may: it begins a run, or a chat.
    pub(crate) fn may_change(&self) -> bool {
        match self.imported.operation.shape() {
            Shape::Query => false,
            Shape::Mutation => true,
            Shape::Subscription => {
                !matches!(self.imported.request.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY")
            }
        }
    }

    /// What a failed request of it may have done, once it was sent.
    pub(crate) fn effect(&self) -> Effect {
        if self.may_change() { Effect::Unknown } else { Effect::None }
    }

    /// The security schemes that it asks for, each once.
    pub(crate) fn schemes(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.imported.security.iter().flat_map(|one| one.schemes.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
