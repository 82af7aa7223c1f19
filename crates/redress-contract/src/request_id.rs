//! The name of one call, by which its log lines and its answer are found together.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// The name of one call: made by the engine, or the caller's own if it is well formed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(RequestIdRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum RequestIdRepr {
    Made(Uuid),
    Given(Arc<str>),
}

impl RequestId {
    /// The longest id that a caller may choose.
    pub const MAX: usize = 128;

    /// The UUIDv7 of this time (milliseconds since 1970) and these random bytes.
    pub fn from_parts(unix_ms: u64, random: &[u8; 10]) -> RequestId {
        RequestId(RequestIdRepr::Made(uuid::Builder::from_unix_timestamp_millis(unix_ms, random).into_uuid()))
    }

    /// The caller's own id: 1 to 128 letters, digits and `-`, `_`, `.`, `:`. Anything
    /// else is not taken, since it would travel into logs and headers.
    pub fn given(text: &str) -> Option<RequestId> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':');
        if text.is_empty() || text.len() > RequestId::MAX || !text.bytes().all(allowed) {
            return None;
        }
        Some(RequestId(RequestIdRepr::Given(text.into())))
    }

    /// Hands the id to `take` as text, without the detour over a formatter. It never needs escaping.
    pub fn with_text<T>(&self, take: impl FnOnce(&str) -> T) -> T {
        match &self.0 {
            RequestIdRepr::Made(uuid) => take(uuid.hyphenated().encode_lower(&mut [0; 36])),
            RequestIdRepr::Given(text) => take(text),
        }
    }

    /// Appends the id to `bytes`. It never needs escaping.
    pub(crate) fn write_to(&self, bytes: &mut Vec<u8>) {
        match &self.0 {
            RequestIdRepr::Made(uuid) => {
                bytes.extend_from_slice(uuid.hyphenated().encode_lower(&mut [0; 36]).as_bytes())
            }
            RequestIdRepr::Given(text) => bytes.extend_from_slice(text.as_bytes()),
        }
    }
}

/// Without the detour over a formatter: a face writes one with every answer.
impl From<&RequestId> for String {
    fn from(id: &RequestId) -> String {
        match &id.0 {
            RequestIdRepr::Made(uuid) => uuid.hyphenated().encode_lower(&mut [0; 36]).to_owned(),
            RequestIdRepr::Given(text) => text.as_ref().to_owned(),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            RequestIdRepr::Made(uuid) => f.write_str(uuid.hyphenated().encode_lower(&mut [0; 36])),
            RequestIdRepr::Given(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            RequestIdRepr::Made(uuid) => serializer.serialize_str(uuid.hyphenated().encode_lower(&mut [0; 36])),
            RequestIdRepr::Given(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RequestId, D::Error> {
        let text = String::deserialize(deserializer)?;
        RequestId::given(&text).ok_or_else(|| de::Error::custom("not a request id"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_own_id_is_taken_only_if_it_is_well_formed() {
        assert_eq!(RequestId::given("abc-1.2:x_").unwrap().to_string(), "abc-1.2:x_");
        let long = "a".repeat(129);
        for bad in ["", "a b", "a\nb", "ä", "a\"b", "<x>", long.as_str()] {
            assert!(RequestId::given(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_made_id_is_a_uuid_of_version_seven() {
        let text = RequestId::from_parts(1_763_000_000_000, &[7; 10]).to_string();
        assert_eq!(Uuid::parse_str(&text).unwrap().get_version_num(), 7);
    }
}
