//! What is kept: from the settings to the folder.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use redress_core::Fittings;
use redress_state::{OpenError, State, StateOptions, Sync};
use redress_telemetry::{Metrics, names};

use crate::{
    config::{self, Settings, WhereState},
    trouble::{Trouble, chain},
};

/// The state in its folder; nothing where it is in memory.
#[derive(Clone)]
pub(crate) struct Kept(Option<Arc<State>>);

impl Kept {
    pub(super) async fn open(settings: &Settings) -> Result<Kept, Trouble> {
        attempt(settings).await.map(Kept).map_err(|(folder, error)| unusable(&folder, &error))
    }

    /// In memory too where another process has the folder. Whoever asks for an audit by name does not want to go without,
    /// and quotas would be counted twice.
    pub(super) async fn open_if_free(settings: &Settings) -> Result<Kept, Trouble> {
        let needed = settings.audit.enabled == Some(true) || settings.limits.has_quotas();
        match attempt(settings).await {
            Ok(state) => Ok(Kept(state)),
            Err((_, OpenError::Taken)) if !needed => Ok(Kept(None)),
            Err((folder, error)) => Err(unusable(&folder, &error)),
        }
    }

    /// Whether it outlives the process.
    pub(crate) fn is_lasting(&self) -> bool {
        self.0.is_some()
    }

    /// `fittings` that keep in the folder what lasts, and calls where they are recorded.
    pub(super) fn fit(&self, fittings: Fittings, audited: bool) -> Fittings {
        let Some(state) = &self.0 else { return fittings };
        let fittings = fittings.consent(state.consents()).idempotency(state.keys()).quotas(state.quotas());
        if audited { fittings.audit(state.audit()) } else { fittings }
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

fn unusable(folder: &Path, error: &OpenError) -> Trouble {
    Trouble::StateUnusable { path: folder.display().to_string(), says: chain(error) }
}

async fn attempt(settings: &Settings) -> Result<Option<Arc<State>>, (PathBuf, OpenError)> {
    let WhereState::Folder(table) = &settings.state else { return Ok(None) };
    let folder = table.folder.clone().unwrap_or_default();
    let mut options = StateOptions::new(&folder).sync(match table.sync {
        Some(config::Sync::Full) | None => Sync::Full,
        Some(config::Sync::Normal) => Sync::Normal,
    });
    if let Some(lasts) = table.keys_last {
        options = options.keys_last(lasts.0);
    }
    if let Some(retention) = settings.audit.retention {
        options = options.retention(retention.0);
    }
    let opened = State::open(options).await;
    opened.map(|state| Some(Arc::new(state))).map_err(|error| (folder, error))
}
