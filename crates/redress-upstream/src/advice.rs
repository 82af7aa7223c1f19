//! When to come again, as a service says it: `Retry-After` (seconds or a date), and both families of rate-limit headers.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap};

/// What is further away than this is nothing to wait for.
const MAX_LENGTH: Duration = Duration::from_secs(30 * 24 * 3600);
/// What is larger is a moment since 1970, and not a number of seconds.
const A_MOMENT: u64 = 1_000_000_000;

/// In how long to come again. A moment is seen from the service's own clock where it tells that, since ours may be set
/// otherwise.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let now = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok()).unwrap_or(now);
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(said) = text("retry-after") {
        return seconds(said).or_else(|| until(httpdate::parse_http_date(said).ok()?, now)).filter(is_sane);
    }
    if let Some(said) = text("retry-after-ms").or_else(|| text("x-retry-after-ms")) {
        return said.parse().ok().map(Duration::from_millis).filter(is_sane);
    }
    // `RateLimit: "default";r=0;t=30`, or `limit=100, remaining=0, reset=30`.
    if let Some(said) = text("ratelimit") {
        let (left, reset) = (member(said, &["r", "remaining"]), member(said, &["t", "reset"]));
        if left.is_none_or(|left| left == 0) {
            return reset.map(Duration::from_secs).filter(is_sane);
        }
    }
    for family in ["ratelimit", "x-ratelimit", "x-rate-limit"] {
        let number = |what: &str| {
            text(&format!("{family}-{what}")).and_then(|said| said.split([';', ',']).next()?.trim().parse::<f64>().ok())
        };
        let Some(reset) = number("reset").or_else(|| number("reset-after")).filter(|reset| *reset >= 0.0) else {
            continue;
        };
        if number("remaining").is_some_and(|left| left > 0.0) {
            continue;
        }
        let whole = reset as u64;
        let wait = match whole {
            A_MOMENT.. => {
                // Some count milliseconds.
                let since =
                    if whole > A_MOMENT * 100 { Duration::from_millis(whole) } else { Duration::from_secs(whole) };
                until(SystemTime::UNIX_EPOCH.checked_add(since)?, now)?
            }
            0..A_MOMENT => Duration::from_secs_f64(reset),
        };
        return Some(wait).filter(is_sane);
    }
    None
}

fn is_sane(wait: &Duration) -> bool {
    *wait <= MAX_LENGTH
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// How long it is until `moment`; one that has passed is now.
fn until(moment: SystemTime, now: SystemTime) -> Option<Duration> {
    Some(moment.duration_since(now).unwrap_or_default())
}

/// A number of a structured field, by one of its names.
fn member(text: &str, names: &[&str]) -> Option<u64> {
    let parts = text.split([';', ',']).filter_map(|part| part.split_once('='));
    parts
        .map(|(name, value)| (name.trim(), value.trim()))
        .find_map(|(name, value)| names.contains(&name).then(|| value.parse().ok()).flatten())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn said(pairs: &[(&str, &str)]) -> Option<u64> {
        let headers = pairs
            .iter()
            .map(|(name, value)| {
                (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
            })
            .collect();
        // 2026-11-18T08:00:00Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_988_800);
        retry_after(&headers, now).map(|wait| u64::try_from(wait.as_millis()).unwrap())
    }

    #[test]
    fn services_say_in_many_ways_when_to_come_again() {
        assert_eq!(said(&[("retry-after", "7")]), Some(7000));
        assert_eq!(said(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(said(&[("retry-after", "Wed, 18 Nov 2026 08:00:30 GMT")]), Some(30_000));
        assert_eq!(said(&[("retry-after", "Wed, 18 Nov 2020 08:00:30 GMT")]), Some(0));
        let (date, end) = ("Tue, 10 Nov 2026 08:00:00 GMT", "Tue, 10 Nov 2026 08:00:30 GMT");
        assert_eq!(said(&[("retry-after", end), ("date", date)]), Some(30_000), "by the service's own clock");
        assert_eq!(said(&[("ratelimit", "\"default\";r=0;t=30")]), Some(30_000));
        assert_eq!(said(&[("ratelimit", "\"default\";r=9;t=30")]), None);
        assert_eq!(said(&[("ratelimit", "limit=100, remaining=0, reset=12")]), Some(12_000));
        assert_eq!(said(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "12")]), Some(12_000));
        assert_eq!(said(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1794988860")]), Some(60_000));
        assert_eq!(said(&[("x-ratelimit-reset", "1794988860000")]), Some(60_000));
        assert_eq!(said(&[("x-ratelimit-reset-after", "1.5")]), Some(1500));
        assert_eq!(said(&[("x-rate-limit-remaining", "3"), ("x-rate-limit-reset", "12")]), None);
        assert_eq!(said(&[("retry-after", "7"), ("x-ratelimit-reset", "99")]), Some(7000));
    }

    #[test]
    fn nonsense_is_no_advice() {
        for text in ["soon", "-5", "NaN", "inf", "1e300", "99999999999"] {
            assert_eq!(said(&[("retry-after", text)]), None, "{text}");
        }
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[("ratelimit-reset", "-3")]), None);
    }
}
