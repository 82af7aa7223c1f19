//! How one call reads in the log.

use std::{fmt::Write as _, time::SystemTime};

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
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // The day of the civil calendar, counted from 1 March of the year 0 so that a leap day is the last of its
    // year (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second, ms) = (seconds / 3600, seconds / 60 % 60, seconds % 60, since.subsec_millis());
    let mut text = String::with_capacity(24);
    let _ = write!(text, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z");
    text
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
