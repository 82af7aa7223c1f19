//! Events of the log, as records of OpenTelemetry. What may hold a foreign text is left out while it is read, so no
//! record ever has it.

use std::{error::Error, fmt, time::SystemTime};

use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, Severity};
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLogger};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use super::{private, spans::shortened};
use crate::LogTargets;

/// What is told in place of what a library says: it may hold what a client has sent.
const LIBRARY: &str = "a library logged something, which the local log tells";

/// The layer that makes them.
pub(super) struct Logs {
    logger: SdkLogger,
    own: LogTargets,
}

impl Logs {
    pub(super) fn new(logger: SdkLogger, own: LogTargets) -> Logs {
        Logs { logger, own }
    }
}

impl<S: Subscriber> Layer<S> for Logs {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let severity = severity(*metadata.level());
        if !self.logger.event_enabled(severity, metadata.target(), Some(metadata.name())) {
            return;
        }
        let mut record = self.logger.create_log_record();
        record.set_target(metadata.target());
        record.set_timestamp(SystemTime::now());
        record.set_severity_number(severity);
        record.set_severity_text(metadata.level().as_str());
        if self.own.has(metadata.target()) {
            event.record(&mut EventFields(&mut record));
        } else {
            record.set_body(LIBRARY.into());
        }
        self.logger.emit(record);
    }
}

fn severity(level: Level) -> Severity {
    match level {
        Level::ERROR => Severity::Error,
        Level::WARN => Severity::Warn,
        Level::INFO => Severity::Info,
        Level::DEBUG => Severity::Debug,
        Level::TRACE => Severity::Trace,
    }
}

/// The fields of one event, on their way into its record.
struct EventFields<'a>(&'a mut SdkLogRecord);

impl EventFields<'_> {
    fn add(&mut self, field: &Field, value: impl FnOnce() -> AnyValue) {
        match field.name() {
            "message" => self.0.set_body(value()),
            name if private::stays(name) => {}
            name => self.0.add_attribute(name, value()),
        }
    }
}

impl Visit for EventFields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, || shortened(value).to_owned().into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, || shortened(&format!("{value:?}")).to_owned().into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, || value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, || value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, || i64::try_from(value).map_or_else(|_| value.to_string().into(), AnyValue::from));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, || value.into());
    }

    fn record_bytes(&mut self, _: &Field, _: &[u8]) {}

    /// An error is a foreign text, whatever the field is called.
    fn record_error(&mut self, _: &Field, _: &(dyn Error + 'static)) {}
}
