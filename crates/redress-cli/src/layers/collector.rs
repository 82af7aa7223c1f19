//! What is sent to a collector: from the settings to what sends it.

use redress_telemetry::OtlpSettings;

pub(crate) use redress_telemetry::Otlp;

use super::headers;
use crate::{
    config::ServeSettings,
    error::{CliError, chain},
    program::Program,
};

/// What sends traces, metrics and logs to the collector, where one is named.
pub(crate) fn collector(settings: &ServeSettings, program: &Program) -> Result<Option<Otlp>, CliError> {
    let table = &settings.telemetry;
    let Some(endpoint) = &table.otlp else { return Ok(None) };
    let service = table.service.as_deref().unwrap_or(program.about().name());
    let mut told = OtlpSettings::new(endpoint)
        .service(service)
        .version(program.about().version())
        .sample(table.sample.unwrap_or(crate::config::defaults::SAMPLE))
        .own(program.own());
    for (name, value) in table.headers_file.as_deref().map(headers).transpose()?.into_iter().flatten() {
        told = told.header(name, value);
    }
    Otlp::start(told).map(Some).map_err(|error| CliError::TelemetryUnusable { says: chain(&error) })
}
