//! How many calls there are in an hour, a day or a month.

use std::{fmt, num::NonZeroU32, str::FromStr, sync::Arc};

use redress_core::{QuotaShare, QuotaWindow};

use crate::{LimitRule, LimitsError};

/// How many calls there are in an hour, a day or a month.
///
/// ```
/// use redress_limits::Quota;
///
/// assert_eq!("1000/d".parse::<Quota>()?.to_string(), "1000/day");
/// assert!("1000/min".parse::<Quota>().is_err());
/// # Ok::<(), redress_limits::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    calls: NonZeroU32,
    window: QuotaWindow,
}

impl Quota {
    /// So many calls in an hour, a day or a month.
    pub fn new(calls: NonZeroU32, window: QuotaWindow) -> Quota {
        Quota { calls, window }
    }

    /// For how long they are.
    pub fn window(self) -> QuotaWindow {
        self.window
    }

    /// Looks for two of which one means nothing.
    pub(crate) fn check(quotas: &[Quota]) -> Result<(), LimitsError> {
        let windows = QuotaWindow::ALL.into_iter();
        let mut twice = windows.filter(|window| quotas.iter().filter(|quota| quota.window == *window).count() > 1);
        twice.next().map_or(Ok(()), |window| Err(LimitsError::QuotaTwice { window }))
    }
}

impl FromStr for Quota {
    type Err = LimitsError;

    fn from_str(text: &str) -> Result<Quota, LimitsError> {
        let wrong = || LimitsError::Quota { text: text.to_owned() };
        let (calls, unit) = text.split_once('/').ok_or_else(wrong)?;
        let calls: u32 = calls.trim().parse().map_err(|_| wrong())?;
        let calls = NonZeroU32::new(calls).ok_or(LimitsError::Zero { setting: "quota" })?;
        let window = match unit.trim() {
            "h" | "hour" => QuotaWindow::Hour,
            "d" | "day" => QuotaWindow::Day,
            "month" => QuotaWindow::Month,
            _ => return Err(wrong()),
        };
        Ok(Quota { calls, window })
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.calls, self.window.as_str())
    }
}

impl LimitRule {
    /// What calls that the rule is about are taken from, for the rule of this number or for what holds where none does.
    pub(crate) fn shares(&self, number: Option<usize>) -> Vec<QuotaShare> {
        if self.quotas.is_empty() {
            return Vec::new();
        }
        let rule = self.counted_together();
        let share = |quota: &Quota| QuotaShare {
            policy: match number {
                Some(number) => format!("rule{number}-{}", quota.window.as_str()).into(),
                None => quota.window.as_str().into(),
            },
            rule: Arc::clone(&rule),
            window: quota.window,
            limit: quota.calls.get().into(),
        };
        self.quotas.iter().map(share).collect()
    }

    /// What is counted together, as it is kept: in one order, so that to write the same rule in another counts on.
    fn counted_together(&self) -> Arc<str> {
        let listed = |names: &[String], quoted: bool| {
            let mut names: Vec<String> =
                names.iter().map(|name| if quoted { format!("{name:?}") } else { name.clone() }).collect();
            names.sort();
            names.dedup();
            names.join(",")
        };
        let operations = if self.operations.is_empty() { "*".to_owned() } else { listed(&self.operations, false) };
        // An id may hold any character, and the name of an operation none that would need it.
        let callers = listed(&self.callers, true);
        if callers.is_empty() { operations.into() } else { format!("{operations} for {callers}").into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_number_and_an_hour_a_day_or_a_month() {
        for (text, shown) in [("5/h", "5/hour"), (" 10 / day ", "10/day"), ("7/d", "7/day"), ("9/month", "9/month")] {
            assert_eq!(text.parse::<Quota>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_quota_is_refused_with_its_text() {
        for text in ["", "100", "/day", "ten/day", "-1/day", "1.5/day", "10/s", "10/m", "10/week", "99999999999/day"] {
            assert_eq!(text.parse::<Quota>(), Err(LimitsError::Quota { text: text.to_owned() }), "{text}");
        }
        assert_eq!("0/day".parse::<Quota>(), Err(LimitsError::Zero { setting: "quota" }));
    }

    #[test]
    fn what_is_counted_together_is_told_by_what_a_rule_is_about_and_not_by_its_place_or_its_numbers() {
        let of = |operations: &[&str], callers: &[&str]| {
            let rule = LimitRule::new(operations.iter().copied()).for_callers(callers.iter().copied());
            rule.counted_together().to_string()
        };
        assert_eq!((of(&[], &[]), of(&["*"], &[])), ("*".to_owned(), "*".to_owned()));
        assert_eq!(of(&["b.c", "a.*"], &[]), "a.*,b.c");
        assert_eq!(of(&["a.*"], &["ben", "ada"]), r#"a.* for "ada","ben""#);
        // No id can make one rule look like another.
        assert_ne!(of(&["a.*"], &["a", "b"]), of(&["a.*"], &["a\",\"b"]));
    }
}
