//! A build that sends nothing to a collector: there is nothing that could, and the type says so.

use std::{sync::Arc, time::Duration};

use redress_telemetry::Metrics;

use crate::{config::ServeSettings, error::CliError, program::Program};

/// Nothing that sends.
#[derive(Debug)]
pub(crate) enum Otlp {}

impl Otlp {
    pub(crate) fn export(&self, _: &Arc<Metrics>) {
        match *self {}
    }

    pub(crate) async fn shutdown(self, _: Duration) {
        match self {}
    }
}

/// Nothing: settings that name a collector were refused.
#[expect(clippy::unnecessary_wraps, reason = "a build that sends can fail here")]
pub(crate) fn collector(_: &ServeSettings, _: &Program) -> Result<Option<Otlp>, CliError> {
    Ok(None)
}
