//! Quotas: allowances of calls for an hour, a day or a month, counted where they outlive the process.
//!
//! A [`Limit`](crate::Limit) says which allowances a call is taken from, and a [`QuotaStore`] counts them. A call is set
//! aside before anything of it is decoded, counted before its handler runs, and given back where that never starts.
//!
//! Why so: docs/decisions/0062-quotas-are-counted-before-the-handler.md.

use std::{
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime},
};

use redress_contract::Allowance;
use serde::Serialize;

use crate::{
    StoreError,
    author::handler::BoxFuture,
    rfc3339::{civil, rfc3339},
};

/// For how long an allowance is: by the calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QuotaWindow {
    /// An hour, from its first minute on.
    Hour,
    /// A day, from midnight on.
    Day,
    /// A month, from its first day on.
    Month,
}

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

impl QuotaWindow {
    /// Every window.
    pub const ALL: [QuotaWindow; 3] = [QuotaWindow::Hour, QuotaWindow::Day, QuotaWindow::Month];

    /// The window as it is spelled.
    pub const fn as_str(self) -> &'static str {
        match self {
            QuotaWindow::Hour => "hour",
            QuotaWindow::Day => "day",
            QuotaWindow::Month => "month",
        }
    }

    /// The window of this name.
    pub fn parse(text: &str) -> Option<QuotaWindow> {
        QuotaWindow::ALL.into_iter().find(|window| window.as_str() == text)
    }

    /// When the hour, the day or the month around `time` begins and ends, in seconds since 1970.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use redress_core::QuotaWindow;
    ///
    /// // 2024-02-29T23:59:59Z
    /// let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_709_251_199);
    /// let month = QuotaWindow::Month.around(time);
    /// assert_eq!((month.end, month.end - month.start), (1_709_251_200, 29 * 86_400));
    /// ```
    pub fn around(self, time: SystemTime) -> Range<u64> {
        let now = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        match self {
            QuotaWindow::Hour => whole(now / HOUR, HOUR),
            QuotaWindow::Day => whole(now / DAY, DAY),
            QuotaWindow::Month => {
                let today = now / DAY;
                let (_, month, day) = civil(today);
                let first = today.saturating_sub(day - 1);
                let length = (28..=31).find(|length| civil(first + length).1 != month).unwrap_or(31);
                first * DAY..(first + length) * DAY
            }
        }
    }
}

fn whole(number: u64, length: u64) -> Range<u64> {
    number * length..number.saturating_add(1).saturating_mul(length)
}

/// One allowance that a call is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaShare {
    /// What the allowance is called towards its caller. It tells nothing of the rule behind it.
    pub policy: Arc<str>,
    /// What calls are counted together, as it is kept: the same text is the same count, whatever its limit is by then.
    pub rule: Arc<str>,
    /// For how long it is.
    pub window: QuotaWindow,
    /// How many calls it is for.
    pub limit: u64,
}

/// An allowance that is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// For how long it is.
    pub window: QuotaWindow,
    /// How many calls it is for.
    pub limit: u64,
    /// How many were made, those that run included.
    pub used: u64,
    /// When it is whole again, in seconds since 1970.
    pub renews: u64,
    /// How long that is.
    pub renews_in: Duration,
    /// What is left of this one and of the others that the call would have been taken from.
    pub allowances: Vec<Allowance>,
}

/// What a caller is told of an allowance that is used up.
#[derive(Serialize)]
pub(crate) struct ExhaustedDetails {
    limit: u64,
    used: u64,
    remaining: u64,
    window: &'static str,
    per: &'static str,
    renews_at: String,
}

impl Exhausted {
    pub(crate) fn told(&self) -> ExhaustedDetails {
        let renews = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.renews));
        ExhaustedDetails {
            limit: self.limit,
            used: self.used,
            remaining: self.limit.saturating_sub(self.used),
            window: self.window.as_str(),
            per: "caller",
            renews_at: rfc3339(renews.unwrap_or(SystemTime::UNIX_EPOCH)),
        }
    }

    /// Rounded up, since whoever comes a moment too early comes twice.
    pub(crate) fn retry_after_ms(&self) -> u64 {
        u64::try_from(self.renews_in.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).max(1)
    }
}

/// Why a call is not set aside.
#[derive(Debug)]
pub enum QuotaRefused {
    /// An allowance is used up: QUOTA_EXHAUSTED.
    Exhausted(Box<Exhausted>),
    /// Nobody can tell, or count: OVERLOADED, since no call is let through uncounted.
    Broken(StoreError),
}

/// Counts calls, and keeps what it has counted.
///
/// However many calls are set aside and counted at once, and whenever the process ends, no more of them run than an
/// allowance is for.
pub trait QuotaStore: Send + Sync + 'static {
    /// Sets one call of `caller` aside in each of its allowances, or in none. The text for a caller without an id is
    /// one that no id can be.
    fn reserve<'a>(
        &'a self,
        caller: &'a str,
        shares: &'a [QuotaShare],
    ) -> BoxFuture<'a, Result<Box<dyn QuotaHold>, QuotaRefused>>;

    /// Whether calls can be counted right now.
    fn is_open(&self) -> bool {
        true
    }
}

/// A call that is set aside. Dropping it gives it back, counted or not, unless it was [spent](QuotaHold::spend).
pub trait QuotaHold: Send + 'static {
    /// Counts the call. When this resolves, the count outlives the process; what comes back is what is left.
    fn count(&mut self) -> BoxFuture<'_, Result<Vec<Allowance>, StoreError>>;

    /// Says that the handler has run, so that the call stays counted.
    fn spend(self: Box<Self>);
}

impl std::fmt::Debug for dyn QuotaHold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("QuotaHold")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window around a moment, as RFC 3339 writes its ends.
    fn around(window: QuotaWindow, seconds: u64) -> String {
        let shown = |seconds| rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).replace(":00.000Z", "");
        let Range { start, end } = window.around(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert!((start..end).contains(&seconds), "{window:?} {seconds}");
        format!("{} {}", shown(start), shown(end))
    }

    #[test]
    fn windows_are_whole_hours_days_and_months_in_utc() {
        use QuotaWindow::{Day, Hour, Month};
        for (window, seconds, expected) in [
            (Hour, 0, "1970-01-01T00:00 1970-01-01T01:00"),
            (Hour, 1_767_225_599, "2025-12-31T23:00 2026-01-01T00:00"),
            (Day, 1_767_225_600, "2026-01-01T00:00 2026-01-02T00:00"),
            (Month, 0, "1970-01-01T00:00 1970-02-01T00:00"),
            (Month, 1_767_225_599, "2025-12-01T00:00 2026-01-01T00:00"),
            (Month, 1_767_225_600, "2026-01-01T00:00 2026-02-01T00:00"),
            (Month, 1_709_164_800, "2024-02-01T00:00 2024-03-01T00:00"),
            (Month, 1_677_628_799, "2023-02-01T00:00 2023-03-01T00:00"),
            (Month, 4_107_542_399, "2100-02-01T00:00 2100-03-01T00:00"),
            (Month, 951_782_400, "2000-02-01T00:00 2000-03-01T00:00"),
        ] {
            assert_eq!(around(window, seconds), expected);
        }
    }

    #[test]
    fn each_window_ends_where_the_next_begins_for_four_hundred_years() {
        for window in [QuotaWindow::Month, QuotaWindow::Day] {
            let mut at = 0;
            let mut count = 0;
            while count < 400 * 12 {
                let Range { start, end } = window.around(SystemTime::UNIX_EPOCH + Duration::from_secs(at));
                assert_eq!(start, at);
                (at, count) = (end, count + 1);
            }
        }
    }

    #[test]
    fn no_clock_is_too_far_off_to_have_a_window() {
        let far = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(i64::MAX as u64 / 2)).unwrap();
        let past = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        for window in QuotaWindow::ALL {
            assert!(window.around(far).start > 0);
            assert_eq!(window.around(past).start, 0);
        }
    }
}
