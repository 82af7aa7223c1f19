//! The end of a service: no new calls, then a bounded time for those that run.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How far a service has come on its way down. A clone is the same service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shutdown {
    draining: CancellationToken,
    over: CancellationToken,
    #[cfg(feature = "mcp")]
    silent: CancellationToken,
}

impl Shutdown {
    /// Whether no new calls are taken.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Resolves when no new calls are taken.
    pub(crate) async fn draining(&self) {
        self.draining.cancelled().await;
    }

    /// What tells that no new calls are taken.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.draining
    }

    /// Takes no new calls from here on.
    pub(crate) fn drain(&self) {
        self.draining.cancel();
    }

    /// What cancels the calls that still run when their time is over.
    pub(crate) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// What closes streams that have no end of their own, once whatever ran in them had the time
    /// to say how it ended.
    #[cfg(feature = "mcp")]
    pub(crate) fn silent(&self) -> &CancellationToken {
        &self.silent
    }

    /// Says that nothing runs any more, or has to stop now.
    pub(crate) fn finish(&self) {
        self.over.cancel();
        #[cfg(feature = "mcp")]
        self.silent.cancel();
    }

    /// Resolves when the service has to stop, whatever still runs: `grace` after draining
    /// began the calls are cancelled, and get `last_words` to say so.
    pub(crate) async fn stop(&self, grace: Duration, last_words: Duration) {
        self.draining().await;
        tokio::time::sleep(grace).await;
        self.over.cancel();
        tokio::time::sleep(last_words).await;
    }
}
