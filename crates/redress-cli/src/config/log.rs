//! `[log]`: what this process tells of itself.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

/// What to log.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct LogTable {
    /// The least important that is logged.
    pub(crate) level: Option<LogLevel>,
    /// How a line is written.
    pub(crate) format: Option<Format>,
}

/// The least important that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogLevel {
    /// Nothing
    Off,
    /// Faults
    Error,
    /// Also what is odd, such as slow calls
    Warn,
    /// Also starts and stops
    Info,
    /// Also what explains a call
    Debug,
    /// Everything
    Trace,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs: a JSON object a line
    Json,
}
