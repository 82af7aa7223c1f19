//! A moment, as people write it: a time of the calendar, or how long ago.

use std::{
    str::FromStr,
    time::{Duration, SystemTime},
};

/// A moment in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A time of the calendar.
    At(SystemTime),
    /// How long before now.
    Ago(Duration),
}

/// That a text is no moment.
#[derive(Debug, thiserror::Error)]
#[error("expected a time such as `2026-01-31`, `2026-01-31T12:00:00Z`, or how long ago, such as `1h`")]
pub(crate) struct NoMoment;

impl Moment {
    /// The moment, seen from `now`.
    #[cfg(feature = "state")]
    pub(crate) fn seen_from(self, now: SystemTime) -> SystemTime {
        match self {
            Moment::At(time) => time,
            Moment::Ago(before) => now.checked_sub(before).unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

/// A time of the calendar as it is shown: to the second, whatever a file or a server has said.
pub(crate) fn calendar(time: SystemTime) -> String {
    let text = redress_core::rfc3339(time);
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

/// The day of a time.
pub(crate) fn day(time: SystemTime) -> String {
    calendar(time).split('T').next().unwrap_or_default().to_owned()
}

/// How many whole days from `now` to the end of the year 9999, the last that is written with four digits.
pub(crate) fn days_left(now: SystemTime) -> u64 {
    const LAST: u64 = 253_402_300_799;
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    LAST.saturating_sub(now) / 86_400
}

impl FromStr for Moment {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Moment, NoMoment> {
        if let Ok(before) = humantime::parse_duration(text) {
            return Ok(Moment::Ago(before));
        }
        let day = format!("{text}T00:00:00Z");
        let time = humantime::parse_rfc3339_weak(text).or_else(|_| humantime::parse_rfc3339(&day));
        time.map(Moment::At).map_err(|_| NoMoment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_can_be_shown() {
        let at = |seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        assert_eq!(at(0).map(calendar).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(at(253_402_300_800).map(day).as_deref(), Some("10000-01-01"));
        assert!(at(1 << 62).map(calendar).is_some());
        assert_eq!(SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(1)).map(day).as_deref(), Some("1970-01-01"));
    }

    #[test]
    fn a_moment_is_a_time_a_day_or_how_long_ago() {
        let now = humantime::parse_rfc3339("2026-01-31T12:00:00Z").unwrap();
        let read = |text: &str| text.parse::<Moment>().ok().map(|moment| moment.seen_from(now));
        let at = |text: &str| humantime::parse_rfc3339(text).ok();
        assert_eq!(read("2026-01-31T11:00:00Z"), at("2026-01-31T11:00:00Z"));
        assert_eq!(read("2026-01-31"), at("2026-01-31T00:00:00Z"));
        assert_eq!(read("1h"), at("2026-01-31T11:00:00Z"));
        assert_eq!((read("yesterday"), read("")), (None, None));
    }
}
