//! Numbers compared as they are written, not as the nearest floating point number.

use std::cmp::Ordering;

use serde_json::Number;

/// The largest integer of which every smaller one is a floating point number, too.
const EXACT: i128 = 1 << 53;

/// Which is larger; none where that cannot be told exactly.
pub(crate) fn order(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(one), None) | (None, Some(one)) if one.abs() > EXACT => None,
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// The integer that a number is, if it is written as one, or is a small one with a fraction of zero.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(|| {
        let float = number.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "it is an integer, and smaller than 2^53")]
        (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then_some(float as i128)
    })
}

/// Whether every multiple of `a` is a multiple of `b`; none where that cannot be told.
pub(crate) fn is_multiple(a: &Number, b: &Number) -> Option<bool> {
    let (a, b) = (integer(a)?, integer(b)?);
    (b != 0).then(|| a % b == 0)
}
