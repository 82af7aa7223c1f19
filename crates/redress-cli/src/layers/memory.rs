//! A build that keeps nothing in a folder: consents and keys are where the registry has them, in memory.

use redress_core::Layers;
use redress_telemetry::Metrics;

use crate::{config::ServeSettings, error::CliError};

/// Nothing that lasts: settings that name a folder were refused.
#[derive(Clone)]
pub(crate) struct StateLayer;

impl StateLayer {
    pub(super) async fn open(_: &ServeSettings) -> Result<StateLayer, CliError> {
        Ok(StateLayer)
    }

    pub(super) async fn open_if_free(_: &ServeSettings) -> Result<StateLayer, CliError> {
        Ok(StateLayer)
    }

    pub(crate) fn is_lasting(&self) -> bool {
        false
    }

    pub(super) fn fit(&self, layers: Layers, _: bool) -> Layers {
        layers
    }

    pub(super) fn count(&self, _: &Metrics) {}

    pub(super) async fn close(self) {}
}
