//! Telemetry of real calls, read by what it is written for.

mod access_log;
mod generated;
mod metrics;
#[cfg(feature = "otlp")]
mod otlp;
mod page;
mod service;
