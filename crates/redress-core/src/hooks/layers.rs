//! What an operator puts around the operations of a registry that somebody else has built.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::{
    Audit, ConsentStore, IdempotencyStore, IdentityProvider, Limit, Observer, QuotaStore, Registry,
    registry::RegistryInner,
};

/// What an operator puts around a registry that is already built: who calls, what is kept, limits
/// and observers. The operations stay as they are, and what is left out stays as it was.
///
/// ```
/// use redress_core::{Layers, InFlight, Registry};
///
/// let built = Registry::builder().build().unwrap();
/// let served = built.with_layers(Layers::new().limit(InFlight::new(64)));
/// assert_eq!(served.contract(), built.contract());
/// ```
#[derive(Clone, Default)]
pub struct Layers {
    pub(crate) identity: Option<Arc<dyn IdentityProvider>>,
    pub(crate) consent: Option<Arc<dyn ConsentStore>>,
    pub(crate) idempotency: Option<Arc<dyn IdempotencyStore>>,
    pub(crate) audit: Option<Arc<dyn Audit>>,
    pub(crate) quotas: Option<Arc<dyn QuotaStore>>,
    pub(crate) limits: Vec<Arc<dyn Limit>>,
    pub(crate) json_depth: Option<usize>,
    pub(crate) json_members: Option<usize>,
    pub(crate) max_output: Option<usize>,
    pub(crate) check_outputs: Option<bool>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

impl Layers {
    /// Nothing.
    pub fn new() -> Layers {
        Layers::default()
    }

    /// Says who calls, in place of what the registry was built with.
    #[must_use]
    pub fn identity(mut self, provider: Arc<dyn IdentityProvider>) -> Layers {
        self.identity = Some(provider);
        self
    }

    /// Keeps consents elsewhere.
    #[must_use]
    pub fn consent(mut self, store: Arc<dyn ConsentStore>) -> Layers {
        self.consent = Some(store);
        self
    }

    /// Keeps idempotency keys elsewhere.
    #[must_use]
    pub fn idempotency(mut self, store: Arc<dyn IdempotencyStore>) -> Layers {
        self.idempotency = Some(store);
        self
    }

    /// Keeps a record of the calls.
    #[must_use]
    pub fn audit(mut self, audit: Arc<dyn Audit>) -> Layers {
        self.audit = Some(audit);
        self
    }

    /// Counts the calls that a limit takes from an allowance.
    #[must_use]
    pub fn quotas(mut self, store: Arc<dyn QuotaStore>) -> Layers {
        self.quotas = Some(store);
        self
    }

    /// Adds a limit, asked after those of the registry.
    #[must_use]
    pub fn limit(mut self, limit: impl Limit) -> Layers {
        self.limits.push(Arc::new(limit));
        self
    }

    /// Bounds how deep the JSON of an input may nest, in place of [`Settings::json_depth`](crate::Settings).
    #[must_use]
    pub fn json_depth(mut self, depth: usize) -> Layers {
        self.json_depth = Some(depth);
        self
    }

    /// Bounds how many members and items an input may hold, in place of [`Settings::json_members`](crate::Settings).
    #[must_use]
    pub fn json_members(mut self, members: usize) -> Layers {
        self.json_members = Some(members);
        self
    }

    /// Bounds how many bytes an operation that does not say may give at once, in place of
    /// [`Settings::max_output`](crate::Settings).
    #[must_use]
    pub fn max_output(mut self, bytes: usize) -> Layers {
        self.max_output = Some(bytes);
        self
    }

    /// Says whether the outputs and details of typed operations are checked against their schemas, in place of
    /// [`Settings::check_outputs`](crate::Settings).
    #[must_use]
    pub fn check_outputs(mut self, yes: bool) -> Layers {
        self.check_outputs = Some(yes);
        self
    }

    /// Adds an observer, told after those of the registry.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Layers {
        self.observers.push(observer);
        self
    }
}

impl Registry {
    /// The same operations with other parts around them. Which operations are hidden stays one and the same for
    /// both; a call that runs goes on with the parts that it began with.
    pub fn with_layers(&self, layers: Layers) -> Registry {
        let mut inner = RegistryInner::clone(&self.0);
        let Layers { identity, consent, idempotency, audit, quotas, limits, observers, .. } = layers;
        let Layers { json_depth, json_members, max_output, check_outputs, .. } = layers;
        inner.identity = identity.or(inner.identity);
        inner.consent = consent.unwrap_or(inner.consent);
        inner.idempotency = idempotency.unwrap_or(inner.idempotency);
        inner.audit = audit.or(inner.audit);
        inner.quotas = quotas.or(inner.quotas);
        inner.limits.extend(limits);
        inner.has_quotas = inner.limits.iter().any(|limit| limit.has_quotas());
        inner.settings.json_depth = json_depth.unwrap_or(inner.settings.json_depth);
        inner.settings.json_members = json_members.unwrap_or(inner.settings.json_members);
        inner.settings.max_output = max_output.unwrap_or(inner.settings.max_output);
        inner.settings.check_outputs = check_outputs.unwrap_or(inner.settings.check_outputs);
        inner.observers.extend(observers);
        inner.own_keyed = TaskTracker::new();
        Registry(Arc::new(inner))
    }
}

impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layers")
            .field("identity", &self.identity.is_some())
            .field("audit", &self.audit.is_some())
            .field("limits", &self.limits.len())
            .field("observers", &self.observers.len())
            .finish_non_exhaustive()
    }
}
