//! `redress.toml`: what it may hold, and what holds when flag, environment and file disagree.

mod access;
mod bounds;
mod catalogue;
mod check;
pub(crate) mod defaults;
mod document;
#[cfg(test)]
mod extremes;
mod judged;
mod lacking;
mod limits;
mod listen;
mod log;
pub(crate) mod moment;
mod names;
mod profiles;
mod read;
mod schema;
pub(crate) mod secrets_outside_root;
mod serve;
mod settings;
mod state;
mod telemetry;
mod tools;
mod units;
mod upstream;

use schemars::JsonSchema;
use serde::Deserialize;

#[cfg(test)]
pub(crate) use access::AlgorithmSetting;
#[cfg(feature = "jwt")]
pub(crate) use access::KeySourceSetting;
pub(crate) use access::{AccessTable, GivenToken, JwtTable};
pub use catalogue::settings_table;
pub(crate) use document::ConfigDocument;
pub use judged::{ConfigRefused, check_config};
#[cfg(not(all(feature = "state", feature = "tls")))]
pub(crate) use lacking::without;
pub(crate) use limits::{LimitRuleTable, LimitsTable};
pub(crate) use listen::ListenSetting;
pub(crate) use log::{Format, LogLevel, LogTable};
pub(crate) use names::fitting;
pub(crate) use profiles::NamedProfile;
pub use schema::config_schema;
pub(crate) use serve::{HttpTable, ServeTable, TlsTable};
pub(crate) use settings::{HERE, ServeSettings};
#[cfg(feature = "state")]
pub(crate) use state::SyncSetting;
pub(crate) use state::{AuditTable, StateTable, WhereState};
pub(crate) use telemetry::{AccessLogSetting, TelemetryTable};
pub(crate) use tools::{EnvelopeSetting, McpTable, OutputSchemaSetting};
pub(crate) use units::{ByteSize, QuotasSetting, RateSetting, Span, When};
pub(crate) use upstream::UpstreamTable;
#[cfg(feature = "gateway")]
pub(crate) use upstream::{CredentialTable, FailsWhenTable, SecretTable, is_address, is_prefix};

/// What `redress serve` reads. Every value is optional, and a flag or an environment
/// variable of the same name goes before it.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
#[schemars(title = "redress.toml")]
pub(crate) struct File {
    /// Where and what to serve.
    pub(crate) serve: ServeTable,
    /// Who may call.
    pub(crate) access: Option<AccessTable>,
    /// Where consents, idempotency keys, quotas and the audit are kept.
    pub(crate) state: Option<WhereState>,
    /// The record of who called what.
    pub(crate) audit: AuditTable,
    /// How much may be asked for.
    pub(crate) limits: LimitsTable,
    /// What the server shows to prove who it is.
    pub(crate) tls: Option<TlsTable>,
    /// How HTTP connections are treated.
    pub(crate) http: HttpTable,
    /// What is seen of calls.
    pub(crate) telemetry: TelemetryTable,
    /// What to log.
    pub(crate) log: LogTable,
    /// How operations become MCP tools.
    pub(crate) mcp: McpTable,
    /// Services with an OpenAPI document, whose operations are served beside the others.
    pub(crate) upstream: Vec<UpstreamTable>,
}
