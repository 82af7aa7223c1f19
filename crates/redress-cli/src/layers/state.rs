//! What is kept: from the settings to the folder.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use redress_core::Layers;
use redress_state::{OpenStateError, StateOptions, StateStore, Sync};
use redress_telemetry::{Metrics, names};

use crate::{
    config::{self, ServeSettings, WhereState},
    error::{CliError, chain},
};

/// The state in its folder; nothing where it is in memory.
#[derive(Clone)]
pub(crate) struct StateLayer(Option<Arc<StateStore>>);

impl StateLayer {
    pub(super) async fn open(settings: &ServeSettings) -> Result<StateLayer, CliError> {
        attempt(settings).await.map(StateLayer).map_err(|(folder, error)| unusable(&folder, &error))
    }

    /// In memory too where another process has the folder. Whoever asks for an audit by name does not want to go without,
    /// and quotas would be counted twice.
    pub(super) async fn open_if_free(settings: &ServeSettings) -> Result<StateLayer, CliError> {
        let needed = settings.audit.enabled == Some(true) || settings.limits.has_quotas();
        match attempt(settings).await {
            Ok(state) => Ok(StateLayer(state)),
            Err((_, OpenStateError::Taken)) if !needed => Ok(StateLayer(None)),
            Err((folder, error)) => Err(unusable(&folder, &error)),
        }
    }

    /// Whether it outlives the process.
    pub(crate) fn is_lasting(&self) -> bool {
        self.0.is_some()
    }

    /// `layers` that keep in the folder what lasts, and calls where they are recorded.
    pub(super) fn fit(&self, layers: Layers, audited: bool) -> Layers {
        let Some(state) = &self.0 else { return layers };
        let layers = layers.consent(state.consents()).idempotency(state.keys()).quotas(state.quotas());
        if audited { layers.audit(state.audit()) } else { layers }
    }

    /// Counts what the state itself counts.
    #[expect(clippy::cast_precision_loss, reason = "a level is shown and not reckoned with")]
    pub(super) fn count(&self, metrics: &Metrics) {
        let Some(state) = self.0.clone() else { return };
        let late = state.clone();
        metrics.counter(names::AUDIT_LATE, move || late.health().late);
        metrics.gauge(names::STATE_QUEUED, move || state.health().queued_bytes as f64);
    }

    /// Keeps what waits, and lets go.
    pub(super) async fn close(self) {
        if let Some(state) = self.0
            && let Err(error) = state.close().await
        {
            tracing::error!(%error, "the state was not kept to its end");
        }
    }
}

fn unusable(folder: &Path, error: &OpenStateError) -> CliError {
    CliError::StateUnusable { path: folder.display().to_string(), says: chain(error) }
}

async fn attempt(settings: &ServeSettings) -> Result<Option<Arc<StateStore>>, (PathBuf, OpenStateError)> {
    let WhereState::Folder(table) = &settings.state else { return Ok(None) };
    let folder = table.folder.clone().unwrap_or_default();
    let mut options = StateOptions::new(&folder).sync(match table.sync {
        Some(config::SyncSetting::Full) | None => Sync::Full,
        Some(config::SyncSetting::Normal) => Sync::Normal,
    });
    if let Some(lasts) = table.keys_last {
        options = options.keys_last(lasts.0);
    }
    if let Some(retention) = settings.audit.retention {
        options = options.retention(retention.0);
    }
    let opened = StateStore::open(options).await;
    opened.map(|state| Some(Arc::new(state))).map_err(|error| (folder, error))
}
