//! Who calls.

use std::collections::BTreeSet;

/// A caller whose identity has been established: never built from what a request
/// claims, only by an identity provider, a face's own rule or a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    id: String,
    scopes: BTreeSet<String>,
    all_scopes: bool,
}

impl Caller {
    /// A caller known as `id`, with no scopes.
    pub fn new(id: impl Into<String>) -> Caller {
        Caller { id: id.into(), scopes: BTreeSet::new(), all_scopes: false }
    }

    /// The caller on this very machine, who may do everything.
    pub fn local() -> Caller {
        Caller { id: "local".to_owned(), scopes: BTreeSet::new(), all_scopes: true }
    }

    /// The same caller, with one more scope.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Caller {
        self.scopes.insert(scope.into());
        self
    }

    /// The same caller, with more scopes.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Caller {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// What the caller is known as.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether the caller holds `scope`.
    pub fn has(&self, scope: &str) -> bool {
        self.all_scopes || self.scopes.contains(scope)
    }
}
