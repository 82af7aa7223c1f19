//! How often something may be asked for.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use crate::LimitsError;

/// How often something may be asked for: so many calls in a time, and so many at once.
///
/// ```
/// use redress_limits::Rate;
///
/// let rate: Rate = "100/s".parse()?;
/// assert_eq!(rate.to_string(), "100/s");
/// assert_eq!("6/min".parse::<Rate>()?.with_burst(1)?.to_string(), "6/min, 1 at once");
/// assert!("100".parse::<Rate>().is_err());
/// # Ok::<(), redress_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    calls: NonZeroU32,
    unit: Unit,
    burst: NonZeroU32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
}

impl Unit {
    fn duration(self) -> Duration {
        Duration::from_secs(match self {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 3600,
        })
    }
}

impl Rate {
    /// So many calls at once after a pause, where it would otherwise be as many as in one unit of time.
    pub fn with_burst(self, burst: u32) -> Result<Rate, LimitsError> {
        let burst = NonZeroU32::new(burst).ok_or(LimitsError::Zero { setting: "burst" })?;
        // What governor counts is nanoseconds in 64 bits, and a moment of the clock comes on top.
        let countable = u128::from(u64::MAX / 4);
        if self.period().as_nanos() * u128::from(burst.get()) > countable {
            let rate = Rate { burst: self.calls, ..self }.to_string();
            return Err(LimitsError::Burst { rate, burst: burst.get() });
        }
        Ok(Rate { burst, ..self })
    }

    fn period(self) -> Duration {
        // More than a thousand million calls in a second cannot be told from a thousand million.
        (self.unit.duration() / self.calls.get()).max(Duration::from_nanos(1))
    }

    /// The same, as governor counts it.
    pub(crate) fn quota(self) -> governor::Quota {
        let refills = governor::Quota::with_period(self.period());
        refills.unwrap_or(governor::Quota::per_second(self.calls)).allow_burst(self.burst)
    }
}

impl FromStr for Rate {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Rate, LimitsError> {
        let wrong = || LimitsError::Rate { text: text.to_owned() };
        let (calls, unit) = text.split_once('/').ok_or_else(wrong)?;
        let calls: u32 = calls.trim().parse().map_err(|_| wrong())?;
        let calls = NonZeroU32::new(calls).ok_or(LimitsError::Zero { setting: "rate" })?;
        let unit = match unit.trim() {
            "s" | "sec" | "second" => Unit::Second,
            "m" | "min" | "minute" => Unit::Minute,
            "h" | "hour" => Unit::Hour,
            _ => return Err(wrong()),
        };
        Ok(Rate { calls, unit, burst: calls })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Second => "s",
            Unit::Minute => "min",
            Unit::Hour => "h",
        };
        write!(f, "{}/{unit}", self.calls)?;
        if self.burst != self.calls { write!(f, ", {} at once", self.burst) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_unit() {
        for (text, period) in [("100/s", 10), ("60/min", 1000), (" 3600 / h ", 1000), ("10/second", 100)] {
            let quota = text.parse::<Rate>().unwrap().quota();
            assert_eq!(quota.replenish_interval(), Duration::from_millis(period), "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused_with_its_text() {
        for text in ["", "100", "/s", "ten/s", "-1/s", "1.5/s", "10/day", "99999999999/s"] {
            assert_eq!(text.parse::<Rate>(), Err(LimitsError::Rate { text: text.to_owned() }), "{text}");
        }
        assert_eq!("0/s".parse::<Rate>(), Err(LimitsError::Zero { setting: "rate" }));
    }

    #[test]
    fn a_burst_that_cannot_be_counted_is_refused() {
        let hourly: Rate = "1/h".parse().unwrap();
        let refused = hourly.with_burst(5_124_096).unwrap_err();
        assert_eq!(refused, LimitsError::Burst { rate: "1/h".to_owned(), burst: 5_124_096 });
        assert!(hourly.with_burst(1_000_000).is_ok() && "1/s".parse::<Rate>().unwrap().with_burst(u32::MAX).is_ok());
    }

    #[test]
    fn a_rate_beyond_the_clock_is_as_fast_as_the_clock() {
        let quota = "4294967295/s".parse::<Rate>().unwrap().quota();
        assert_eq!(quota.replenish_interval(), Duration::from_nanos(1));
    }
}
