//! Sizes and times, as people write them.

use std::{
    borrow::Cow,
    fmt,
    str::FromStr,
    time::{Duration, SystemTime},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// A number of bytes: `2MiB`, `64kB`, `1024`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) usize);

/// A time that passes: `5s`, `250ms`, `1m 30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

/// How many in a time: `100/s`, `10/min`, `1000/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateSetting(pub(crate) redress_limits::Rate);

/// How many in an hour, a day or a month: `1000/day`, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuotasSetting(pub(crate) Vec<redress_limits::Quota>);

/// A time of the calendar: `2027-01-31T12:00:00Z`, or the day at which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When(pub(crate) SystemTime);

/// That a text is no time of the calendar.
#[derive(Debug, thiserror::Error)]
#[error("expected a time such as `2027-01-31T12:00:00Z` or `2027-01-31`")]
pub(crate) struct NoTime;

/// That a text is no size.
#[derive(Debug, thiserror::Error)]
#[error("expected a number of bytes such as `2MiB`, `64kB` or `1024`")]
pub(crate) struct NoSize;

/// That a text is no time.
#[derive(Debug, thiserror::Error)]
#[error("expected a time longer than nothing, such as `5s`, `250ms` or `1m 30s`")]
pub(crate) struct NoSpan;

const UNITS: [(&str, u64); 8] = [
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

impl FromStr for ByteSize {
    type Err = NoSize;

    fn from_str(text: &str) -> Result<ByteSize, NoSize> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let number: u64 = digits.parse().map_err(|_| NoSize)?;
        let unit = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim())).ok_or(NoSize)?;
        let bytes = number.checked_mul(unit.1).filter(|bytes| *bytes > 0).ok_or(NoSize)?;
        usize::try_from(bytes).map(ByteSize).map_err(|_| NoSize)
    }
}

impl FromStr for Span {
    type Err = NoSpan;

    fn from_str(text: &str) -> Result<Span, NoSpan> {
        match humantime::parse_duration(text) {
            Ok(duration) if !duration.is_zero() => Ok(Span(duration)),
            Ok(_) | Err(_) => Err(NoSpan),
        }
    }
}

impl FromStr for When {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<When, NoTime> {
        let day = format!("{text}T00:00:00Z");
        let time = humantime::parse_rfc3339(text).or_else(|_| humantime::parse_rfc3339(&day));
        time.map(When).map_err(|_| NoTime)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ByteSize, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number of bytes such as `2MiB`, `64kB` or `1024`")]
        enum WrittenValue {
            Number(u64),
            Text(String),
        }
        let text = match WrittenValue::deserialize(deserializer)? {
            WrittenValue::Number(number) => number.to_string(),
            WrittenValue::Text(text) => text,
        };
        text.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for RateSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RateSetting, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map(RateSetting).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for QuotasSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QuotasSetting, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a quota such as `1000/day`, or a list of them")]
        enum WrittenValue {
            One(String),
            Many(Vec<String>),
        }
        let texts = match WrittenValue::deserialize(deserializer)? {
            WrittenValue::One(text) => vec![text],
            WrittenValue::Many(texts) => texts,
        };
        let quotas = texts.iter().map(|text| text.parse()).collect::<Result<Vec<redress_limits::Quota>, _>>();
        let quotas = quotas.map_err(de::Error::custom)?;
        let twice = |(at, quota): (usize, &redress_limits::Quota)| {
            quotas.iter().take(at).any(|other| other.window() == quota.window())
        };
        if quotas.is_empty() {
            return Err(de::Error::custom("there is no quota in the list: write one, or leave it out"));
        }
        if quotas.iter().enumerate().any(twice) {
            return Err(de::Error::custom("there are two quotas for the same time: write one of each"));
        }
        Ok(QuotasSetting(quotas))
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<When, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": "^[0-9]+ *([kKmMgG]?[iI]?[bB])?$"},
            ],
            "examples": ["2MiB", 1024],
        })
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^([0-9]+ *[a-z]+ *)+$", "examples": ["5s", "1m 30s"]})
    }
}

impl JsonSchema for When {
    fn schema_name() -> Cow<'static, str> {
        "When".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z)?$",
            "examples": ["2027-01-31T12:00:00Z", "2027-01-31"],
        })
    }
}

impl JsonSchema for QuotasSetting {
    fn schema_name() -> Cow<'static, str> {
        "Quotas".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({"type": "string", "pattern": "^ *[0-9]+ */ *(h|hour|d|day|month) *$"});
        json_schema!({
            "anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": 3}],
            "examples": ["1000/day", ["100/hour", "10000/month"]],
        })
    }
}

impl fmt::Display for QuotasSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(", "))
    }
}

impl JsonSchema for RateSetting {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^ *[0-9]+ */ *(s|sec|second|m|min|minute|h|hour) *$", "examples": ["100/s", "10/min"]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<ByteSize>().ok().map(|size| size.0);
        assert_eq!(read("1024"), Some(1024));
        assert_eq!((read("2MiB"), read("64 kb")), (Some(2 << 20), Some(64_000)));
        assert_eq!(
            (read("0"), read("many"), read("-1"), read("99999999999GiB"), read("")),
            (None, None, None, None, None)
        );
    }

    #[test]
    fn times_are_read_as_people_write_them_and_are_longer_than_nothing() {
        let read = |text: &str| text.parse::<Span>().ok().map(|span| span.0.as_millis());
        assert_eq!((read("5s"), read("1m 30s"), read("250ms")), (Some(5_000), Some(90_000), Some(250)));
        assert_eq!((read("0s"), read("5"), read("soon")), (None, None, None));
    }

    #[test]
    fn quotas_are_one_or_a_list_with_one_for_each_time() {
        #[derive(Deserialize)]
        struct Held {
            quota: QuotasSetting,
        }
        let read = |text: &str| match toml::from_str::<Held>(&format!("quota = {text}")) {
            Ok(held) => held.quota.to_string(),
            Err(error) => format!("! {}", error.message()),
        };
        assert_eq!(read(r#""10/d""#), "10/day");
        assert_eq!(read(r#"["10/h", "20/day", "30/month"]"#), "10/hour, 20/day, 30/month");
        for (text, says) in [
            ("[]", "there is no quota in the list"),
            (r#"["1/d", "2/day"]"#, "two quotas for the same time"),
            (r#""10/s""#, "`10/s` is not a quota"),
            (r#""0/day""#, "`quota` is 0"),
            ("7", "expected a quota such as `1000/day`"),
        ] {
            assert!(read(text).starts_with('!') && read(text).contains(says), "{}", read(text));
        }
    }

    #[test]
    fn a_time_of_the_calendar_is_a_day_or_a_time_at_greenwich() {
        let read = |text: &str| text.parse::<When>().ok().map(|when| when.0);
        assert_eq!(read("2027-01-31T12:00:00Z"), humantime::parse_rfc3339("2027-01-31T12:00:00Z").ok());
        assert_eq!(read("2027-01-31"), humantime::parse_rfc3339("2027-01-31T00:00:00Z").ok());
        for bad in ["soon", "2027-01-31T12:00:00", "2027-01-31T12:00:00+01:00", "12:00:00", "5", ""] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
