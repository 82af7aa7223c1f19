//! `[mcp]`: how operations become tools.

use std::collections::BTreeMap;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Span;

/// How operations become MCP tools.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct McpTable {
    /// The profile whose operations are tools; all, where none is named.
    pub(crate) profile: Option<String>,
    /// Named sets of operations: `files.*` is a namespace, `files.read` one operation.
    pub(crate) profiles: Option<BTreeMap<String, Vec<String>>>,
    /// What the output schema of a tool admits.
    pub(crate) output_schema: Option<OutputSchemaSetting>,
    /// Which results come in an envelope.
    pub(crate) envelope: Option<EnvelopeSetting>,
    /// Above how many tools four that find and call them are listed in their place.
    pub(crate) discovery_above: Option<usize>,
    /// Whether the whole envelope of a failure stands in the `_meta` of its result, beside the text.
    pub(crate) error_meta: Option<bool>,
    /// Whether subscriptions are tools.
    pub(crate) subscriptions: Option<bool>,
    /// How long a subscription that is a tool gathers items.
    pub(crate) subscription_time: Option<Span>,
    /// Fields that hosts add to the arguments of tools, besides those that are known: dropped where an operation does
    /// not know them.
    pub(crate) host_fields: Option<Vec<String>>,
}

/// What the output schema of a tool admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputSchemaSetting {
    /// The output alone
    Success,
    /// The output, or the envelope of a failure
    Union,
    /// Nothing is promised
    None,
}

/// Which results come in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EnvelopeSetting {
    /// Failures
    Failures,
    /// All
    Always,
}
