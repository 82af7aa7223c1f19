//! `[limits]`: how much may be asked for.

use std::num::{NonZeroU32, NonZeroUsize};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ByteSize, QuotasSetting, RateSetting, WhereState};

/// How much may be asked for. What is not set is not limited.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct LimitsTable {
    /// How many calls a caller may make in a time.
    pub(crate) rate: Option<RateSetting>,
    /// How many calls a caller may make at once before the rate holds.
    pub(crate) burst: Option<NonZeroU32>,
    /// How many calls a caller has in an hour, a day or a month of the calendar (UTC), or several of these.
    pub(crate) quota: Option<QuotasSetting>,
    /// How many calls of a caller may run at once.
    pub(crate) in_flight: Option<NonZeroU32>,
    /// How many streams a caller may follow at once.
    pub(crate) streams: Option<NonZeroU32>,
    /// How many WebSockets a caller may have open.
    pub(crate) sockets: Option<NonZeroUsize>,
    /// How many connections may be open, of all callers together.
    pub(crate) connections: Option<NonZeroUsize>,
    /// How many connections one address may have open; a /64 counts as one, and a trusted proxy as none.
    pub(crate) per_address: Option<NonZeroUsize>,
    /// Whether calls are refused early when answers become slow.
    pub(crate) shed: Option<bool>,
    /// How deep the JSON of a message may nest.
    pub(crate) json_depth: Option<NonZeroUsize>,
    /// How many members and items the JSON of a message may have.
    pub(crate) json_members: Option<NonZeroUsize>,
    /// How many bytes one answer may have, of an operation that does not say.
    pub(crate) max_output: Option<ByteSize>,
    /// How many bytes of answers are held at once, of all callers together.
    pub(crate) answer_bytes: Option<ByteSize>,
    /// How many of them may be one caller's.
    pub(crate) answer_bytes_per_caller: Option<ByteSize>,
    /// How many of them may be one connection's.
    pub(crate) answer_bytes_per_connection: Option<ByteSize>,
    /// Limits of some operations or callers, beside those above.
    pub(crate) rules: Vec<LimitRuleTable>,
}

impl LimitsTable {
    /// Whether any calls are counted for longer than the process lasts.
    pub(crate) fn has_quotas(&self) -> bool {
        self.quota.is_some() || self.rules.iter().any(|rule| rule.quota.is_some())
    }

    /// The value that asks for what cannot be had: in memory, nothing is counted that outlives the process.
    pub(super) fn unkept(&self, state: &WhereState) -> Option<&'static str> {
        match state {
            WhereState::Memory if self.quota.is_some() => Some("limits.quota"),
            WhereState::Memory if self.has_quotas() => Some("limits.rules"),
            WhereState::Memory | WhereState::Folder(_) => None,
        }
    }
}

/// A limit of some operations or callers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct LimitRuleTable {
    /// The operations, such as `files.read` or `files.*`; all, where none is named.
    pub(crate) operations: Option<Vec<String>>,
    /// The callers; all, where none is named.
    pub(crate) callers: Option<Vec<String>>,
    /// How many of these calls a caller may make in a time.
    pub(crate) rate: Option<RateSetting>,
    /// How many of these calls a caller may make at once before the rate holds.
    pub(crate) burst: Option<NonZeroU32>,
    /// How many of these calls a caller has in an hour, a day or a month of the calendar (UTC), or several of these.
    pub(crate) quota: Option<QuotasSetting>,
    /// How many of these calls of a caller may run at once.
    pub(crate) in_flight: Option<NonZeroU32>,
    /// How many of these streams a caller may follow at once.
    pub(crate) streams: Option<NonZeroU32>,
}
