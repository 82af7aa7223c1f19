//! Between which values a setting can be in force: one row for each that has a size, a time or a count.

use std::time::Duration;

use super::{ByteSize, ServeSettings, Span};

/// A setting, and what it may be.
pub(super) struct SettingBound {
    key: &'static str,
    value: BoundValue,
    min: u128,
    max: u128,
}

/// Where a value is found, and what it counts.
enum BoundValue {
    Bytes(fn(&ServeSettings) -> Option<usize>),
    Count(fn(&ServeSettings) -> Option<usize>),
    Time(fn(&ServeSettings) -> Option<Duration>),
}

const SECOND: u128 = 1_000_000_000;
const HOUR: u128 = 3_600 * SECOND;
const DAY: u128 = 24 * HOUR;
const KIB: u128 = 1 << 10;

/// Every one. What is not here is of a type that has no value which could not be in force, or is judged with others.
pub(super) const BOUNDS: &[SettingBound] = &[
    SettingBound::bytes("serve.max_body", |settings| settings.max_body, KIB, KIB << 20),
    SettingBound::time("serve.shutdown_grace", |settings| Some(settings.grace), 1_000_000, HOUR),
    SettingBound::count("serve.max_in_flight", |settings| settings.max_in_flight, 1, 1_000_000),
    // No caller can ask for a longer one either.
    SettingBound::time("serve.deadline", |settings| Some(settings.deadline), 1_000_000, DAY),
    // Whole seconds are what tokens count in, and every one of them makes a token last longer.
    SettingBound::time(
        "access.jwt.clock_skew",
        |settings| span(settings.access.as_ref()?.jwt.as_ref()?.clock_skew),
        SECOND,
        600 * SECOND,
    ),
    SettingBound::count("access.jwt.cache", |settings| settings.access.as_ref()?.jwt.as_ref()?.cache, 0, 10_000_000),
    SettingBound::time("state.keys_last", |settings| span(settings.state.table()?.keys_last), SECOND, 3_650 * DAY),
    // What is past its time is removed once a minute.
    SettingBound::time("audit.retention", |settings| span(settings.audit.retention), 60 * SECOND, 36_500 * DAY),
    SettingBound::count("limits.sockets", |settings| settings.limits.sockets.map(Into::into), 1, 1_000_000),
    SettingBound::count("limits.connections", |settings| settings.limits.connections.map(Into::into), 1, 10_000_000),
    SettingBound::count("limits.per_address", |settings| settings.limits.per_address.map(Into::into), 1, 10_000_000),
    // Where the parser of JSON stops.
    SettingBound::count("limits.json_depth", |settings| settings.limits.json_depth.map(Into::into), 1, 127),
    SettingBound::count("limits.json_members", |settings| settings.limits.json_members.map(Into::into), 1, 100_000_000),
    SettingBound::bytes("limits.max_output", |settings| size(settings.limits.max_output), KIB, KIB << 20),
    // Less than a batch may be ahead of its reader would hold up everybody for nothing.
    SettingBound::bytes("limits.answer_bytes", |settings| size(settings.limits.answer_bytes), KIB << 10, KIB << 30),
    SettingBound::bytes(
        "limits.answer_bytes_per_caller",
        |settings| size(settings.limits.answer_bytes_per_caller),
        KIB << 10,
        KIB << 30,
    ),
    SettingBound::bytes(
        "limits.answer_bytes_per_connection",
        |settings| size(settings.limits.answer_bytes_per_connection),
        KIB << 10,
        KIB << 30,
    ),
    SettingBound::time("http.handshake_time", |settings| span(settings.http.handshake_time), 10_000_000, DAY),
    SettingBound::time("http.header_time", |settings| span(settings.http.header_time), 10_000_000, DAY),
    SettingBound::time("http.body_time", |settings| span(settings.http.body_time), 10_000_000, DAY),
    SettingBound::time("http.idle_time", |settings| span(settings.http.idle_time), 10_000_000, DAY),
    SettingBound::time("http.write_time", |settings| span(settings.http.write_time), 10_000_000, DAY),
    // Fewer are read by no HTTP/1 parser here.
    SettingBound::bytes("http.max_headers", |settings| size(settings.http.max_headers), 8 * KIB, KIB << 10),
    SettingBound::count("mcp.discovery_above", |settings| settings.tools.discovery_above, 0, 1_000_000),
    SettingBound::time("mcp.subscription_time", |settings| span(settings.tools.subscription_time), 1_000_000, HOUR),
];

fn size(size: Option<ByteSize>) -> Option<usize> {
    size.map(|ByteSize(bytes)| bytes)
}

fn span(span: Option<Span>) -> Option<Duration> {
    span.map(|span| span.0)
}

impl BoundValue {
    fn of(&self, settings: &ServeSettings) -> Option<u128> {
        match self {
            BoundValue::Bytes(of) | BoundValue::Count(of) => of(settings).and_then(|value| value.try_into().ok()),
            BoundValue::Time(of) => of(settings).map(|time| time.as_nanos()),
        }
    }

    /// A value as it would be written.
    fn shown(&self, value: u128) -> String {
        match self {
            BoundValue::Bytes(_) if value > 0 && value.is_multiple_of(1 << 20) => format!("{}MiB", value >> 20),
            BoundValue::Bytes(_) if value > 0 && value.is_multiple_of(1 << 10) => format!("{}KiB", value >> 10),
            BoundValue::Bytes(_) => format!("{value}B"),
            BoundValue::Count(_) => value.to_string(),
            BoundValue::Time(_) => {
                let nanos = u32::try_from(value % SECOND).unwrap_or_default();
                let time = Duration::new(u64::try_from(value / SECOND).unwrap_or(u64::MAX), nanos);
                humantime::format_duration(time).to_string()
            }
        }
    }
}

impl SettingBound {
    const fn bytes(
        key: &'static str,
        value: fn(&ServeSettings) -> Option<usize>,
        min: u128,
        max: u128,
    ) -> SettingBound {
        SettingBound { key, value: BoundValue::Bytes(value), min, max }
    }

    const fn count(
        key: &'static str,
        value: fn(&ServeSettings) -> Option<usize>,
        min: u128,
        max: u128,
    ) -> SettingBound {
        SettingBound { key, value: BoundValue::Count(value), min, max }
    }

    const fn time(
        key: &'static str,
        value: fn(&ServeSettings) -> Option<Duration>,
        min: u128,
        max: u128,
    ) -> SettingBound {
        SettingBound { key, value: BoundValue::Time(value), min, max }
    }

    /// What is wrong with the value, where something is.
    pub(super) fn wrong(&self, settings: &ServeSettings) -> Option<(&'static str, String)> {
        let SettingBound { key, value, min, max } = self;
        let written = value.of(settings)?;
        let (bound, word) = if written < *min {
            (*min, "least")
        } else if written > *max {
            (*max, "most")
        } else {
            return None;
        };
        let (written, bound) = (value.shown(written), value.shown(bound));
        Some((key, format!("`{key}` is {written}, which cannot be in force: write at {word} `{bound}`")))
    }
}
