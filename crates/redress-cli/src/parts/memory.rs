//! A build that keeps nothing in a folder: consents and keys are where the registry has them, in memory.

use redress_core::Fittings;
use redress_telemetry::Metrics;

use crate::{config::Settings, trouble::Trouble};

/// Nothing that lasts: settings that name a folder were refused.
#[derive(Clone)]
pub(crate) struct Kept;

impl Kept {
    pub(super) async fn open(_: &Settings) -> Result<Kept, Trouble> {
        Ok(Kept)
    }

    pub(super) async fn open_if_free(_: &Settings) -> Result<Kept, Trouble> {
        Ok(Kept)
    }

    pub(crate) fn is_lasting(&self) -> bool {
        false
    }

    pub(super) fn fit(&self, fittings: Fittings, _: bool) -> Fittings {
        fittings
    }

    pub(super) fn count(&self, _: &Metrics) {}

    pub(super) async fn close(self) {}
}
