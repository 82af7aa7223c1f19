//! `[telemetry]`: what is seen of calls.

use std::{fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

/// What is seen of calls.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct TelemetryTable {
    /// Whether `/metrics` is served.
    pub(crate) metrics: Option<bool>,
    /// Whether everyone who can reach the server may read `/metrics`, and not only who has the scope `metrics:read`.
    pub(crate) metrics_open: Option<bool>,
    /// Where traces, metrics and logs go by OTLP over HTTP.
    pub(crate) otlp: Option<String>,
    /// A file of headers for the collector, such as `authorization: Bearer …`, one on each line, relative to the folder of
    /// this file.
    pub(crate) headers_file: Option<PathBuf>,
    /// The name of this service in them.
    pub(crate) service: Option<String>,
    /// Which part of the traces is sent, from 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) sample: Option<f64>,
    /// Where a JSON line for each call goes: `stderr`, or a file relative to the folder of this file.
    #[schemars(with = "Option<String>")]
    pub(crate) access_log: Option<AccessLogSetting>,
}

impl TelemetryTable {
    /// Where the collector is, as it may be shown: the whole URL may hold a password.
    pub(crate) fn collector(&self) -> Option<String> {
        let url = reqwest::Url::parse(self.otlp.as_deref()?).ok();
        Some(url.map_or_else(|| "the collector".to_owned(), |url| url.origin().ascii_serialization()))
    }
}

/// Where a line for each call goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum AccessLogSetting {
    Stderr,
    File(PathBuf),
}

impl TryFrom<String> for AccessLogSetting {
    type Error = &'static str;

    fn try_from(text: String) -> Result<AccessLogSetting, &'static str> {
        match text.as_str() {
            "stderr" => Ok(AccessLogSetting::Stderr),
            // What is on it is for whoever started the server: its first screen, or the messages of MCP.
            "stdout" => Err("the output is not for the log: expected `stderr`, or the path of a file"),
            "" => Err("expected `stderr`, or the path of a file"),
            _ => Ok(AccessLogSetting::File(text.into())),
        }
    }
}

impl fmt::Display for AccessLogSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessLogSetting::Stderr => f.write_str("stderr"),
            AccessLogSetting::File(path) => path.display().fmt(f),
        }
    }
}
