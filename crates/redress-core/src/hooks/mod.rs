//! What stands around a call and can be replaced: identity, audit, consents, idempotency keys, quotas, limits, guards,
//! observers, classifiers, and the extensions and layers that bring them.

pub(crate) mod audit;
pub(crate) mod classify;
pub(crate) mod consent;
pub(crate) mod extension;
pub(crate) mod guard;
pub(crate) mod idempotency;
pub(crate) mod identity;
pub(crate) mod layers;
pub(crate) mod limit;
pub(crate) mod observer;
pub(crate) mod quota;
pub(crate) mod store_error;
