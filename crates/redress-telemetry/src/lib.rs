//! What is *seen* of calls: metrics, traces, logs, and the dashboard and alerts that a contract asks for.
//!
//! | you want to | look at |
//! |---|---|
//! | count calls, and let Prometheus read the counts | [`Metrics`], [`names`] |
//! | one line for each call, in a file or on a stream | [`AccessLog`] |
//! | a Grafana dashboard and alert rules for a contract | [`dashboard`], [`alerts`] |
//! | traces, metrics and logs in an OpenTelemetry collector | `Otlp`, with the feature `otlp` |
//! | pass the trace on to a service that a handler calls | `trace_headers`, with the feature `otlp` |
//!
//! **Invariant:** this crate changes no outcome, and its labels come from the contract alone, never from a caller.

mod access_log;
mod alerts;
mod dashboard;
mod log_targets;
mod metrics;
#[cfg(feature = "otlp")]
mod otlp;

pub use access_log::{AccessLog, LogTarget};
pub use alerts::alerts;
pub use dashboard::dashboard;
pub use log_targets::LogTargets;
pub use metrics::{CONTENT_TYPE, MetricName, Metrics, names};
#[cfg(feature = "otlp")]
pub use otlp::{Otlp, OtlpError, OtlpSettings, trace_headers};
