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
    pub(crate) fn seen_from(self, now: SystemTime) -> SystemTime {
        match self {
            Moment::At(time) => time,
            Moment::Ago(before) => now.checked_sub(before).unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
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
