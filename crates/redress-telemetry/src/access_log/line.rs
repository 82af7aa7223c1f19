//! How one call reads in the log.

use std::time::SystemTime;

use redress_core::{EndedCall, printable};
use serde::Serialize;

/// One call. Members that do not apply are left out.
#[derive(Serialize)]
struct AccessLogLine<'a> {
    time: String,
    request_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    face: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'static str>,
    http: u16,
    elapsed_ms: f64,
}

/// The line of a call, its end included.
pub(super) fn line(call: &EndedCall<'_>) -> Vec<u8> {
    let outcome = match call.problem {
        Some(_) => "failed",
        None if call.asks => "asked",
        None => "ok",
    };
    let line = AccessLogLine {
        time: time(SystemTime::now()),
        request_id: call.request_id.to_string(),
        parent: call.parent.map(ToString::to_string),
        trace_id: trace_id(),
        face: call.face.as_str(),
        caller: call.caller.map(|caller| caller.id()),
        operation: call.operation.map(|operation| operation.name().as_str()),
        outcome,
        code: call.problem.map(|problem| problem.code.as_str()),
        fault: call.fault.map(|fault| fault.as_str()),
        http: call.problem.map_or(200, |problem| problem.http),
        elapsed_ms: (call.elapsed.as_secs_f64() * 1e6).round() / 1e3,
    };
    // Texts and numbers can always be written.
    let written = serde_json::to_string(&line).unwrap_or_default();
    // Whatever somebody else chose must not turn the writing round or hide in it; read as JSON, it is what it was.
    let mut written = printable(&written).into_owned().into_bytes();
    written.push(b'\n');
    written
}

#[cfg(feature = "otlp")]
fn trace_id() -> Option<String> {
    crate::otlp::trace_id()
}

#[cfg(not(feature = "otlp"))]
fn trace_id() -> Option<String> {
    None
}

/// A moment in UTC as RFC 3339 has it, to the millisecond.
pub(super) fn time(at: SystemTime) -> String {
    redress_core::rfc3339(at)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_moment_is_written_as_rfc_3339_has_it() {
        let at = |ms: u64| time(SystemTime::UNIX_EPOCH + Duration::from_millis(ms));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_798_761_599_001), "2026-12-31T23:59:59.001Z");
        assert_eq!(at(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }
}
