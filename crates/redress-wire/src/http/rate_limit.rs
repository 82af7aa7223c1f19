//! `RateLimit-Policy` and `RateLimit`: what is left of a caller's allowances, as structured fields
//! (draft-ietf-httpapi-ratelimit-headers-10).
//!
//! Why so: docs/decisions/0063-ratelimit-fields.md.

use std::fmt::Write as _;

use redress_contract::Allowance;

/// What the two fields say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimitFields {
    /// The value of `RateLimit-Policy`: what the allowances are.
    pub policy: String,
    /// The value of `RateLimit`: what is left of them, and for how long.
    pub limit: String,
}

/// The two fields for `allowances`; nothing where there are none.
///
/// ```
/// use redress_contract::Allowance;
/// use redress_wire::http::rate_limit;
///
/// let day = Allowance { policy: "day".into(), limit: 100, remaining: 7, window_seconds: 86_400, renews_seconds: 60 };
/// let fields = rate_limit(&[day]).unwrap();
/// assert_eq!(fields.policy, r#""day";q=100;w=86400"#);
/// assert_eq!(fields.limit, r#""day";r=7;t=60"#);
/// assert!(rate_limit(&[]).is_none());
/// ```
pub fn rate_limit(allowances: &[Allowance]) -> Option<RateLimitFields> {
    if allowances.is_empty() {
        return None;
    }
    let (mut policy, mut limit) = (String::new(), String::new());
    for allowance in allowances {
        let separator = if policy.is_empty() { "" } else { ", " };
        let Allowance { policy: name, limit: quota, remaining, window_seconds, renews_seconds } = allowance;
        // Writing to a string cannot fail.
        let _ = write!(
            policy,
            "{separator}{};q={};w={}",
            StructuredString(name),
            integer(*quota),
            integer(*window_seconds)
        );
        let _ = write!(
            limit,
            "{separator}{};r={};t={}",
            StructuredString(name),
            integer(*remaining),
            integer(*renews_seconds)
        );
    }
    Some(RateLimitFields { policy, limit })
}

/// A structured field has no larger integers (RFC 9651, section 3.3.1).
fn integer(number: u64) -> u64 {
    number.min(999_999_999_999_999)
}

/// A String of structured fields: visible ASCII and spaces in quotation marks (RFC 9651, section 3.3.3).
struct StructuredString<'a>(&'a str);

impl std::fmt::Display for StructuredString<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"")?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                ' '..='~' => f.write_char(character)?,
                _ => f.write_str("?")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowance(policy: &str, limit: u64) -> Allowance {
        Allowance { policy: policy.into(), limit, remaining: limit, window_seconds: 3600, renews_seconds: 0 }
    }

    #[test]
    fn several_allowances_are_one_list() {
        let fields = rate_limit(&[allowance("hour", 2), allowance("rule1-day", 3)]).unwrap();
        assert_eq!(fields.policy, r#""hour";q=2;w=3600, "rule1-day";q=3;w=3600"#);
        assert_eq!(fields.limit, r#""hour";r=2;t=0, "rule1-day";r=3;t=0"#);
    }

    #[test]
    fn whatever_a_policy_is_called_the_field_stays_one_that_can_be_read() {
        let fields = rate_limit(&[allowance("a\"b\\c\r\nü", u64::MAX)]).unwrap();
        assert_eq!(fields.policy, r#""a\"b\\c???";q=999999999999999;w=3600"#);
    }
}
