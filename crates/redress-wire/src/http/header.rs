//! The headers that a call over HTTP reads and writes, as they are spelled on the wire.

use std::time::Duration;

/// Makes a call safe to repeat, on an operation that takes a key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The name of the call: taken if it is well formed, and always answered.
pub const REQUEST_ID: &str = "x-request-id";
/// In how many milliseconds the caller wants its answer. The operation's own deadline, if
/// shorter, still holds. It has no `X-` in front, as RFC 6648 advises.
pub const DEADLINE_MS: &str = "redress-deadline-ms";
/// The trace that the call belongs to (W3C Trace Context).
pub const TRACEPARENT: &str = "traceparent";
/// What the systems that the trace has passed through have to say about it.
pub const TRACESTATE: &str = "tracestate";
/// The last event that the reader of a stream saw.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// Where an output breaks its schema, of one that is delivered all the same: the rule and the pointer.
pub const OUTPUT_BREACH: &str = "redress-output-breach";

/// What is left of the caller's allowances (draft-ietf-httpapi-ratelimit-headers).
pub const RATE_LIMIT: &str = "ratelimit";
/// What the caller's allowances are.
pub const RATE_LIMIT_POLICY: &str = "ratelimit-policy";

/// The longest idempotency key that is taken, in bytes.
pub const LONGEST_KEY: usize = 255;
/// The longest deadline that a caller may ask for, in milliseconds: a day.
pub const LONGEST_DEADLINE_MS: u64 = 86_400_000;

/// What an idempotency key has to be, as whoever sent another is told on every face.
pub const A_KEY: &str = "1 to 255 visible ASCII characters";
/// What a deadline has to be, as whoever sent another is told on every face.
pub const A_DEADLINE: &str = "a whole number of milliseconds, from 1 to 86400000";

/// The hint for whoever sent another key or deadline, at a place that each face has its own name for.
pub fn correction(expected: &str, place: &str) -> String {
    format!("Send {expected} {place}, or leave it out.")
}

/// Whether `key` may be an idempotency key, on whichever face: visible ASCII, and not too long.
///
/// ```
/// use redress_wire::http::header::is_idempotency_key;
///
/// assert!(is_idempotency_key("order-17") && !is_idempotency_key("") && !is_idempotency_key("a\nb"));
/// ```
pub fn is_idempotency_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= LONGEST_KEY && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The deadline of so many milliseconds, on whichever face; nothing, if that is none or too many.
///
/// ```
/// use redress_wire::http::header::deadline;
///
/// assert!(deadline(1).is_some() && deadline(0).is_none() && deadline(86_400_001).is_none());
/// ```
pub fn deadline(ms: u64) -> Option<Duration> {
    (1..=LONGEST_DEADLINE_MS).contains(&ms).then(|| Duration::from_millis(ms))
}

/// What a `traceparent` header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent<'a> {
    /// The whole trace: 32 lower-case hex digits.
    pub trace_id: &'a str,
    /// The caller's own span: 16 lower-case hex digits.
    pub parent_id: &'a str,
    /// Whether the caller records the trace.
    pub sampled: bool,
}

impl<'a> TraceParent<'a> {
    /// Reads the header; nothing if it is not well formed, in which case the standard asks
    /// to go on as if it were absent.
    ///
    /// ```
    /// use redress_wire::http::header::TraceParent;
    ///
    /// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let trace = TraceParent::read(header).unwrap();
    /// assert_eq!(trace.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    /// assert!(trace.sampled && TraceParent::read("00-0-0-0").is_none());
    /// ```
    pub fn read(header: &'a str) -> Option<TraceParent<'a>> {
        let mut parts = header.split('-');
        let (version, trace_id, parent_id, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let known = |text: &str, length| hex(text, length) && text.bytes().any(|byte| byte != b'0');
        // A later version may have more parts; this one has none.
        let ends = version != "00" || parts.next().is_none();
        if !hex(version, 2)
            || version == "ff"
            || !known(trace_id, 32)
            || !known(parent_id, 16)
            || !hex(flags, 2)
            || !ends
        {
            return None;
        }
        let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Some(TraceParent { trace_id, parent_id, sampled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_key_and_of_a_deadline_is_what_is_taken() {
        assert_eq!(A_KEY, format!("1 to {LONGEST_KEY} visible ASCII characters"));
        assert_eq!(A_DEADLINE, format!("a whole number of milliseconds, from 1 to {LONGEST_DEADLINE_MS}"));
    }
}
