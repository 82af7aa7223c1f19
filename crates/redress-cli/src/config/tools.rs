//! `[mcp]`: how operations become tools.

use std::collections::BTreeMap;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

/// How operations become MCP tools.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct McpTable {
    /// The profile whose operations are tools; all, where none is named.
    pub(crate) profile: Option<String>,
    /// Named sets of operations: `files.*` is a namespace, `files.read` one operation.
    pub(crate) profiles: Option<BTreeMap<String, Vec<String>>>,
    /// What the output schema of a tool admits.
    pub(crate) output_schema: Option<OutputSchema>,
    /// Which results come in an envelope.
    pub(crate) envelope: Option<Envelope>,
    /// Above how many tools four that find and call them are listed in their place.
    pub(crate) discovery_above: Option<usize>,
}

/// What the output schema of a tool admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputSchema {
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
pub(crate) enum Envelope {
    /// Failures
    Failures,
    /// All
    Always,
}
