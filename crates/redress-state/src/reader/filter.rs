//! Which records are wanted.

use std::time::SystemTime;

use super::{AuditRecord, OperationPatternError, pattern::OperationPattern};
use crate::clock::to_ms;

/// Which records are wanted: all that pass every condition, the latest of them.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use redress_state::AuditFilter;
///
/// let an_hour = SystemTime::now() - Duration::from_secs(60 * 60);
/// let filter = AuditFilter::new().since(an_hour).caller("ada").operation("files.*").unwrap().limit(50);
/// assert!(AuditFilter::new().operation("no name").is_err());
/// # let _ = filter;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct AuditFilter {
    since: Option<SystemTime>,
    until: Option<SystemTime>,
    caller: Option<String>,
    operation: Option<OperationPattern>,
    code: Option<String>,
    request_id: Option<String>,
    face: Option<String>,
    input: Option<String>,
    pub(super) limit: usize,
}

impl Default for AuditFilter {
    fn default() -> AuditFilter {
        AuditFilter::new()
    }
}

impl AuditFilter {
    /// The latest hundred records.
    pub fn new() -> AuditFilter {
        AuditFilter {
            since: None,
            until: None,
            caller: None,
            operation: None,
            code: None,
            request_id: None,
            face: None,
            input: None,
            limit: 100,
        }
    }

    /// Only calls that ended then or later.
    pub fn since(mut self, time: SystemTime) -> AuditFilter {
        self.since = Some(time);
        self
    }

    /// Only calls that ended before then.
    pub fn until(mut self, time: SystemTime) -> AuditFilter {
        self.until = Some(time);
        self
    }

    /// Only calls of this caller.
    pub fn caller(mut self, id: impl Into<String>) -> AuditFilter {
        self.caller = Some(id.into());
        self
    }

    /// Only calls of operations that match, such as `files.read`, `files.*` or `*.list`.
    pub fn operation(mut self, pattern: &str) -> Result<AuditFilter, OperationPatternError> {
        self.operation = Some(OperationPattern::new(pattern)?);
        Ok(self)
    }

    /// Only calls that ended so: `ok`, `asks`, or a code.
    pub fn code(mut self, code: impl Into<String>) -> AuditFilter {
        self.code = Some(code.into());
        self
    }

    /// Only the call of this name, and those that it made itself.
    pub fn request_id(mut self, id: impl Into<String>) -> AuditFilter {
        self.request_id = Some(id.into());
        self
    }

    /// Only calls that came in this way.
    pub fn face(mut self, face: impl Into<String>) -> AuditFilter {
        self.face = Some(face.into());
        self
    }

    /// Only calls with the input of this [hash](super::AuditReader::hash).
    pub fn input(mut self, hash: impl Into<String>) -> AuditFilter {
        self.input = Some(hash.into());
        self
    }

    /// At most so many.
    pub fn limit(mut self, records: usize) -> AuditFilter {
        self.limit = records;
        self
    }

    pub(super) fn since_ms(&self) -> i64 {
        self.since.map_or(i64::MIN, to_ms)
    }

    pub(super) fn until_ms(&self) -> i64 {
        self.until.map_or(i64::MAX, to_ms)
    }

    pub(super) fn passes(&self, record: &AuditRecord) -> bool {
        let is =
            |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|wanted| found == Some(wanted));
        let named = self.request_id.as_deref();
        self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
            && is(&self.caller, record.caller.as_deref())
            && self.operation.as_ref().is_none_or(|pattern| pattern.matches(&record.operation))
            && is(&self.code, Some(&record.code))
            && named.is_none_or(|id| record.request_id == id || record.parent.as_deref() == Some(id))
            && is(&self.face, Some(&record.face))
            && is(&self.input, record.input_hash.as_deref())
    }
}
