//! `state` and `[audit]`: what is kept, and where.

use std::{borrow::Cow, fmt, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::Span;

/// Where consents, idempotency keys, quotas and the audit are kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WhereState {
    /// In memory: they end with the process.
    Memory,
    /// In a folder.
    Folder(StateTable),
}

impl WhereState {
    /// What is said of the folder, where there is one.
    pub(crate) fn table(&self) -> Option<&StateTable> {
        match self {
            WhereState::Memory => None,
            WhereState::Folder(table) => Some(table),
        }
    }
}

/// A folder in which consents, idempotency keys, quotas and the audit are kept.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct StateTable {
    /// The folder, relative to the folder of this file.
    pub(crate) folder: Option<PathBuf>,
    /// What is waited for before something counts as kept.
    pub(crate) sync: Option<SyncSetting>,
    /// How long the outcome of a call with an idempotency key is kept.
    pub(crate) keys_last: Option<Span>,
}

/// What is waited for before something counts as kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SyncSetting {
    /// The disk: it is there after the power was cut
    Full,
    /// The system: it is there after the process was killed
    Normal,
}

/// The record of who called what.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct AuditTable {
    /// Whether calls are recorded.
    pub(crate) enabled: Option<bool>,
    /// How long a record is kept.
    pub(crate) retention: Option<Span>,
}

impl AuditTable {
    /// The value that asks for what cannot be had: in memory, nothing is recorded.
    pub(super) fn unkept(&self, state: &WhereState) -> Option<&'static str> {
        match state {
            WhereState::Folder(_) => None,
            WhereState::Memory if self.enabled == Some(true) => Some("audit.enabled"),
            WhereState::Memory => self.retention.map(|_| "audit.retention"),
        }
    }
}

impl<'de> Deserialize<'de> for WhereState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WhereState, D::Error> {
        // By hand, so that what is wrong inside of the table is told with its own line.
        struct StateVisitor;
        impl<'de> Visitor<'de> for StateVisitor {
            type Value = WhereState;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"memory\" or a table")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WhereState, E> {
                match text {
                    "memory" => Ok(WhereState::Memory),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WhereState, A::Error> {
                StateTable::deserialize(MapAccessDeserializer::new(map)).map(WhereState::Folder)
            }
        }
        deserializer.deserialize_any(StateVisitor)
    }
}

impl JsonSchema for WhereState {
    fn schema_name() -> Cow<'static, str> {
        "WhereState".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<StateTable>();
        json_schema!({"anyOf": [{"const": "memory", "description": "In memory: it ends with the process"}, table]})
    }
}
