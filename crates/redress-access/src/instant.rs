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

/// How serde writes and reads a point in time: as RFC 3339, which people can read.
pub(crate) mod rfc3339 {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _, ser::Error as _};

    use super::{OffsetDateTime, Rfc3339, SystemTime};

    pub(crate) fn serialize<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        let text = OffsetDateTime::from(*at).format(&Rfc3339).map_err(S::Error::custom)?;
        serializer.serialize_str(&text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        OffsetDateTime::parse(&text, &Rfc3339).map(SystemTime::from).map_err(D::Error::custom)
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
