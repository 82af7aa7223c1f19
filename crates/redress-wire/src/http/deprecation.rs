//! What a caller of a deprecated operation is told in headers: RFC 9745, RFC 8594 and a link to what to use instead.
//!
//! Why so: docs/decisions/0074-deprecation-headers-without-days.md.

use redress_contract::{Deprecation, Name};

use super::path;

/// The header that says since when something is deprecated.
pub const DEPRECATION: &str = "deprecation";
/// The header that says when it will be gone.
pub const SUNSET: &str = "sunset";
/// The header that leads to what to use instead.
pub const LINK: &str = "link";

const DAY: i64 = 86_400;

/// The headers for a call of something deprecated; `server` is where the paths of the service begin.
///
/// The standards speak of days, and declarations mostly of versions. Where `since` is a day, such as `2026-01-31`, that
/// is the date; else it is the beginning of time, which says that it is deprecated by now, and no more. `Sunset` is there
/// where `remove_in` is a day.
///
/// ```
/// use redress_contract::Deprecation;
/// use redress_wire::http::deprecation;
///
/// let old = Deprecation {
///     since: "2.0.0".into(),
///     replaced_by: Some("tickets.search".into()),
///     remove_in: Some("2027-02-28".into()),
///     reason: None,
/// };
/// assert_eq!(
///     deprecation(&old, "/"),
///     [
///         ("deprecation", "@0".to_owned()),
///         ("sunset", "Sun, 28 Feb 2027 00:00:00 GMT".to_owned()),
///         ("link", "</ops/tickets/search>; rel=\"successor-version\"".to_owned()),
///     ]
/// );
/// ```
pub fn deprecation(deprecation: &Deprecation, server: &str) -> Vec<(&'static str, String)> {
    let since = day(&deprecation.since).map_or(0, |day| day * DAY);
    let mut fields = vec![(DEPRECATION, format!("@{since}"))];
    if let Some(day) = deprecation.remove_in.as_deref().and_then(day) {
        fields.push((SUNSET, http_date(day)));
    }
    // A name of the contract has letters, digits, dots and underscores, none of which ends a link.
    if let Some(name) = deprecation.replaced_by.as_deref().and_then(|name| Name::new(name).ok()) {
        let to = format!("{}{}", server.trim_end_matches('/'), path(&name));
        fields.push((LINK, format!("<{to}>; rel=\"successor-version\"")));
    }
    fields
}

/// The days since 1970 of a date such as `2026-01-31`.
fn day(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let is_date = bytes.len() == 10
        && bytes.iter().enumerate().all(|(place, byte)| match place {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let mut parts = text.split('-').filter(|_| is_date).map(str::parse::<i64>);
    let (Some(Ok(year)), Some(Ok(month)), Some(Ok(day))) = (parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let days = days(year, month, day);
    // What is no day of the calendar comes out as another.
    ((1970..=9999).contains(&year) && civil(days) == (year, month, day)).then_some(days)
}

/// The days from 1970 to a day of the Gregorian calendar, by counting years from March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

fn http_date(days: i64) -> String {
    const WEEK: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day) = civil(days);
    let name =
        |names: &[&'static str], place: i64| usize::try_from(place).ok().and_then(|place| names.get(place).copied());
    let weekday = name(&WEEK, days.rem_euclid(7)).unwrap_or_default();
    let month = name(&MONTHS, month - 1).unwrap_or_default();
    format!("{weekday}, {day:02} {month} {year} 00:00:00 GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_written_as_http_has_them_and_versions_are_none() {
        for (text, seconds, shown) in [
            ("1970-01-01", 0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("2000-02-29", 951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            ("2026-11-18", 1_794_960_000, "Wed, 18 Nov 2026 00:00:00 GMT"),
            ("9999-12-31", 253_402_214_400, "Fri, 31 Dec 9999 00:00:00 GMT"),
        ] {
            let day = day(text).unwrap();
            assert_eq!((day * DAY, http_date(day).as_str()), (seconds, shown));
        }
        for text in [
            "2.0.0",
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-1-1",
            "1969-12-31",
            "+026-01-01",
            "",
            "2026-01-31T00",
        ] {
            assert_eq!(day(text), None, "{text}");
        }
    }

    #[test]
    fn nothing_that_is_no_name_becomes_a_link() {
        let by = |name: &str| Deprecation { replaced_by: Some(name.into()), ..Deprecation::default() };
        assert_eq!(deprecation(&by("a.b>\r\nx: y"), "/").len(), 1);
        assert_eq!(
            deprecation(&by("a.b"), "https://x.test/api/")[1].1,
            "<https://x.test/api/ops/a/b>; rel=\"successor-version\""
        );
    }
}
