//! `redress.toml`: what it may hold, and what holds when flag, environment and file disagree.

mod profiles;
mod read;
mod settings;
mod units;

use std::{collections::BTreeMap, path::PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use profiles::NamedProfile;
pub use settings::settings_table;
pub(crate) use settings::{DEFAULT_LISTEN, Settings};
pub(crate) use units::{Size, Span};

/// What `redress serve` reads. Every value is optional, and a flag or an environment
/// variable of the same name goes before it.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
#[schemars(title = "redress.toml")]
pub(crate) struct File {
    /// Where and what to serve.
    pub(crate) serve: ServeTable,
    /// What to log.
    pub(crate) log: LogTable,
    /// How operations become MCP tools.
    pub(crate) mcp: McpTable,
}

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

/// Where and what to serve.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ServeTable {
    /// Where to listen: an address and a port. Port 0 takes a free one.
    pub(crate) listen: Option<String>,
    /// The folder of the file operations, relative to the folder of this file.
    pub(crate) root: Option<PathBuf>,
    /// Whether the operations that change files are offered.
    pub(crate) write: Option<bool>,
    /// The most bytes that a message may have.
    pub(crate) max_body: Option<Size>,
    /// How long running calls have to end once the service is told to stop.
    pub(crate) shutdown_grace: Option<Span>,
    /// How many calls may run at once; more are refused with OVERLOADED.
    #[schemars(range(min = 1))]
    pub(crate) max_in_flight: Option<usize>,
    /// How long a call may take where its operation does not say.
    pub(crate) deadline: Option<Span>,
}

/// What to log.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct LogTable {
    /// The least important that is logged.
    pub(crate) level: Option<Level>,
    /// How a line is written.
    pub(crate) format: Option<Format>,
}

/// The least important that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
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

/// The JSON Schema of `redress.toml`.
pub fn config_schema() -> Value {
    let settings =
        schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<File>().to_value();
    without_null(&mut schema);
    if let Some(members) = schema.as_object_mut() {
        members.insert("$comment".to_owned(), "made by `REDRESS_BLESS=1 cargo test -p redress-cli`".into());
    }
    schema
}

/// Takes the null out of what may be left out: TOML has none.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(members) => members.iter_mut().for_each(without_null),
        Value::Object(members) => {
            members.retain(|name, value| name != "default" || !value.is_null());
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type") != Some(&"null".into()));
                if let [Value::Object(only)] = choices.as_mut_slice() {
                    let only = std::mem::take(only);
                    members.remove("anyOf");
                    only.into_iter().for_each(|(name, value)| {
                        members.entry(name).or_insert(value);
                    });
                }
            }
            members.values_mut().for_each(without_null);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
