//! What is kept: from the settings to the folder.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use redress_state::{OpenStateError, StateOptions, StateStore, Sync};

use crate::{
    config::{self, ServeSettings, WhereState},
    error::{CliError, chain},
};

/// The state in its folder; nothing where it is in memory.
pub(super) async fn open(settings: &ServeSettings) -> Result<Option<Arc<StateStore>>, CliError> {
    attempt(settings).await.map_err(|(folder, error)| unusable(&folder, &error))
}

/// The state in its folder; nothing where it is in memory, and where another process has the folder. Whoever asks for
/// an audit by name does not want to go without, and quotas would be counted twice.
pub(super) async fn open_if_free(settings: &ServeSettings) -> Result<Option<Arc<StateStore>>, CliError> {
    match attempt(settings).await {
        Ok(state) => Ok(state),
        Err((_, OpenStateError::Taken)) if settings.audit.enabled != Some(true) && !settings.limits.has_quotas() => {
            Ok(None)
        }
        Err((folder, error)) => Err(unusable(&folder, &error)),
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
