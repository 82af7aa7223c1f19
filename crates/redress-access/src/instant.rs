//! Points in time, as tokens and files hold them.

use std::time::{Duration, SystemTime};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// The whole seconds since 1970 by the clock on the wall, which is what tokens go by.
pub(crate) fn now() -> u64 {
    seconds(SystemTime::now())
}

/// The whole seconds since 1970.
pub(crate) fn seconds(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// `at` with whole seconds, which is all that a file keeps.
pub(crate) fn whole(at: SystemTime) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds(at))
}

/// The last second that RFC 3339 can write: the end of the year 9999.
pub(crate) const LAST: u64 = 253_402_300_799;

/// How serde writes and reads a point in time: as RFC 3339, which people can read.
pub(crate) mod rfc3339 {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _, ser::Error as _};

    use super::{Duration, OffsetDateTime, Rfc3339, SystemTime};

    pub(crate) fn serialize<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        let seconds = i64::try_from(super::seconds(*at)).map_err(S::Error::custom)?;
        let at = OffsetDateTime::from_unix_timestamp(seconds).map_err(S::Error::custom)?;
        let text = at.format(&Rfc3339).map_err(S::Error::custom)?;
        serializer.serialize_str(&text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at = OffsetDateTime::parse(&text, &Rfc3339).map_err(D::Error::custom)?;
        // What was before 1970 is as long past as 1970.
        let since = Duration::from_secs(u64::try_from(at.unix_timestamp()).unwrap_or(0));
        SystemTime::UNIX_EPOCH.checked_add(since).ok_or_else(|| D::Error::custom("no time of this system's calendar"))
    }
}

/// The same, for a point in time that may be missing.
pub(crate) mod rfc3339_option {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{SystemTime, rfc3339};

    #[derive(Deserialize)]
    struct Present(#[serde(with = "rfc3339")] SystemTime);

    pub(crate) fn serialize<S: Serializer>(at: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => rfc3339::serialize(at, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
        Ok(Option::<Present>::deserialize(deserializer)?.map(|Present(at)| at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Kept(#[serde(with = "rfc3339")] SystemTime);

    fn written(seconds: u64) -> Option<String> {
        serde_json::to_string(&Kept(SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?)).ok()
    }

    #[test]
    fn no_time_is_beyond_what_can_be_written_or_read() {
        assert_eq!(written(0).as_deref(), Some("\"1970-01-01T00:00:00Z\""));
        assert_eq!(written(LAST).as_deref(), Some("\"9999-12-31T23:59:59Z\""));
        for beyond in [LAST + 1, 1 << 40, 1 << 62] {
            assert_eq!(written(beyond), None, "{beyond}");
        }
        let read = |text: &str| serde_json::from_str::<Kept>(&format!("\"{text}\"")).ok().map(|kept| seconds(kept.0));
        assert_eq!(read("9999-12-31T23:59:59Z"), Some(LAST));
        assert_eq!(read("9999-12-31T23:59:59-23:59"), Some(LAST + 86_340), "one with another zone may be later");
        for before in ["0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59"] {
            assert_eq!(read(before), Some(0), "{before}");
        }
        for none in ["10000-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "2027-02-30T00:00:00Z", "2027", ""] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
