//! Who calls.

use std::collections::BTreeSet;

/// The scope by which a person grants, sees and takes back consents. No token for an agent should have it, and
/// [`Caller::local`] does not.
pub const CONSENT_GRANT: &str = "consent:grant";

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

    /// The caller on this very machine, who may do everything but consent: nothing tells whether it is a person or a
    /// person's agent. Whoever knows that it is a person adds the scope [`CONSENT_GRANT`].
    ///
    /// ```
    /// use redress_contract::{CONSENT_GRANT, Caller};
    ///
    /// assert!(Caller::local().has("files:write") && !Caller::local().has(CONSENT_GRANT));
    /// assert!(Caller::local().scope(CONSENT_GRANT).has(CONSENT_GRANT));
    /// ```
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
        (self.all_scopes && scope != CONSENT_GRANT) || self.scopes.contains(scope)
    }
}
