//! What is kept: from the settings to the folder.

use std::sync::Arc;

use redress_state::{State, StateOptions, Sync};

use crate::{
    config::{self, Settings, WhereState},
    trouble::{Trouble, chain},
};

/// The state in its folder; nothing where it is in memory.
pub(super) async fn open(settings: &Settings) -> Result<Option<Arc<State>>, Trouble> {
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
    let unusable = |error| Trouble::StateUnusable { path: folder.display().to_string(), says: chain(&error) };
    opened.map(|state| Some(Arc::new(state))).map_err(unusable)
}
