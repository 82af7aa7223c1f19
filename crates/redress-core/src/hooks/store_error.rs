//! What a store says when it cannot do its work.

/// That a store could not do its work: its disk is full, its file is locked, it has been closed. The cause is for
/// the log; no caller sees it.
#[derive(Debug, thiserror::Error)]
#[error("the store cannot be used")]
pub struct StoreError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// How long a caller is asked to wait while a store is broken.
    pub(crate) const RETRY_AFTER_MS: u64 = 1_000;

    /// Broken for this reason.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError(cause.into())
    }
}
