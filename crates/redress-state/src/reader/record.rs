//! One record of the audit.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize, Serializer};

use crate::clock::from_ms;

/// One record of the audit: who called what, and how it ended. There is no input in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredRecord")]
#[non_exhaustive]
pub struct AuditRecord {
    /// When the call ended, by the clock on the wall.
    #[serde(serialize_with = "rfc3339")]
    pub time: SystemTime,
    /// The name of the call.
    pub request_id: String,
    /// The name of the call that made it, for a composed call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// By which way it came in.
    pub face: String,
    /// Who called; nobody, on an operation that is open to the anonymous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// What was called.
    pub operation: String,
    /// How it ended: `ok`, `asks`, or a code.
    pub code: String,
    /// How long it took.
    #[serde(rename = "elapsed_us", serialize_with = "micros")]
    pub elapsed: Duration,
    /// The keyed hash of the input; nothing where the input was too large to be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_hash: Option<String>,
    /// Whether it got the outcome of an earlier call with its idempotency key.
    pub repeated: bool,
}

/// A record as it is kept: the members in a fixed order.
#[derive(Deserialize)]
struct StoredRecord(i64, String, Option<String>, String, Option<String>, String, String, u64, Option<String>, u8);

impl From<StoredRecord> for AuditRecord {
    fn from(kept: StoredRecord) -> AuditRecord {
        let StoredRecord(at_ms, request_id, parent, face, caller, operation, code, micros, input_hash, repeated) = kept;
        AuditRecord {
            time: from_ms(at_ms),
            request_id,
            parent,
            face,
            caller,
            operation,
            code,
            elapsed: Duration::from_micros(micros),
            input_hash,
            repeated: repeated != 0,
        }
    }
}

fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&redress_core::rfc3339(*time))
}

fn micros<S: Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}
