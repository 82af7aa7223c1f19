//! Bounds on numbers, compared exactly.
//!
//! An integer and a double are never compared by turning one into the other's type, since beyond 2^53
//! that would let a value slip past its bound.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// A number of an input or of a schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Figure {
    Whole(i128),
    Real(f64),
}

impl Figure {
    pub(super) fn of(value: &Value) -> Option<Self> {
        let Value::Number(number) = value else {
            return None;
        };
        number
            .as_i64()
            .map(|whole| Self::Whole(whole.into()))
            .or_else(|| number.as_u64().map(|whole| Self::Whole(whole.into())))
            .or_else(|| number.as_f64().map(Self::Real))
    }

    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (Self::Real(a), Self::Real(b)) => a.partial_cmp(&b),
            (Self::Whole(a), Self::Real(b)) => compare_mixed(a, b),
            (Self::Real(a), Self::Whole(b)) => compare_mixed(b, a).map(Ordering::reverse),
        }
    }
}

fn compare_mixed(whole: i128, real: f64) -> Option<Ordering> {
    // Two to the 127th: the first double above every `i128`, and its negative the last one within.
    const REACH: f64 = i128::MAX as f64;
    if !(-REACH..REACH).contains(&real) {
        return 0.0.partial_cmp(&real);
    }
    // Within reach, so the cast loses the fraction and nothing else.
    let ordering = whole.cmp(&(real.trunc() as i128));
    Some(ordering.then(0.0.partial_cmp(&real.fract())?))
}

/// What a schema says about a number.
#[derive(Debug, Default)]
pub(super) struct NumberBounds {
    min: Option<Figure>,
    above: Option<Figure>,
    max: Option<Figure>,
    below: Option<Figure>,
    step: Option<i128>,
    /// Whether the schema asks for an integer.
    pub(super) whole: bool,
}

impl NumberBounds {
    /// The keywords read here.
    pub(super) const KEYWORDS: [&'static str; 5] =
        ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"];

    /// Reads the bounds, or nothing where one of them is beyond what is checked while decoding.
    pub(super) fn read(keywords: &Map<String, Value>, whole: bool) -> Option<Self> {
        let figure = |keyword: &str| match keywords.get(keyword) {
            None => Some(None),
            Some(value) => Figure::of(value).map(Some),
        };
        let step = match figure("multipleOf")? {
            None => None,
            Some(Figure::Whole(step)) if whole && step > 0 => Some(step),
            Some(Figure::Whole(_) | Figure::Real(_)) => return None,
        };
        Some(Self {
            min: figure("minimum")?,
            above: figure("exclusiveMinimum")?,
            max: figure("maximum")?,
            below: figure("exclusiveMaximum")?,
            step,
            whole,
        })
    }

    /// Whether `figure` keeps within all bounds.
    pub(super) fn admit(&self, figure: Figure) -> bool {
        let keeps = |bound: Option<Figure>, fits: fn(Ordering) -> bool| {
            bound.is_none_or(|bound| figure.compare(bound).is_some_and(fits))
        };
        keeps(self.min, Ordering::is_ge)
            && keeps(self.above, Ordering::is_gt)
            && keeps(self.max, Ordering::is_le)
            && keeps(self.below, Ordering::is_lt)
            && self.step.is_none_or(|step| match figure {
                Figure::Whole(whole) => whole % step == 0,
                Figure::Real(_) => false,
            })
    }

    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        let none = [self.min, self.above, self.max, self.below].iter().all(Option::is_none);
        none && self.step.is_none()
    }

    /// Whether a type that holds `low..=high` cannot break a bound.
    pub(super) fn contain(&self, (low, high): (Figure, Figure)) -> bool {
        self.step.is_none_or(|step| step == 1) && self.admit_edge(low) && self.admit_edge(high)
    }

    fn admit_edge(&self, edge: Figure) -> bool {
        let stepless = Self { step: None, ..*self };
        stepless.admit(edge)
    }

    /// An integer within the bounds where they leave one, for trying a type.
    pub(super) fn sample(&self) -> i64 {
        let edges = [self.min, self.above, self.max, self.below];
        let near = edges.into_iter().flatten().flat_map(|edge| {
            let edge = match edge {
                Figure::Whole(whole) => i64::try_from(whole).unwrap_or(0),
                Figure::Real(real) => real.floor() as i64,
            };
            [edge, edge.saturating_add(1), edge.saturating_sub(1)]
        });
        std::iter::once(1).chain(near).find(|candidate| self.admit(Figure::Whole(i128::from(*candidate)))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bounds(schema: Value) -> NumberBounds {
        NumberBounds::read(schema.as_object().unwrap(), true).unwrap()
    }

    #[test]
    fn a_double_beyond_two_to_the_53_is_compared_exactly() {
        let bounds = bounds(json!({"maximum": u64::MAX}));
        assert!(bounds.admit(Figure::Whole(u64::MAX.into())));
        assert!(!bounds.admit(Figure::Real(18_446_744_073_709_551_616.0)));
    }

    #[test]
    fn a_fraction_decides_between_neighbours() {
        assert!(!bounds(json!({"minimum": 0.5})).admit(Figure::Whole(0)));
        assert!(bounds(json!({"minimum": 0.5})).admit(Figure::Whole(1)));
        assert!(bounds(json!({"minimum": -0.5})).admit(Figure::Whole(0)));
    }

    #[test]
    fn a_type_proves_bounds_that_are_no_narrower_than_its_own() {
        let byte = (Figure::Whole(0), Figure::Whole(255));
        assert!(bounds(json!({"minimum": 0, "maximum": 255})).contain(byte));
        assert!(!bounds(json!({"minimum": 1, "maximum": 255})).contain(byte));
    }

    #[test]
    fn a_sample_keeps_within_the_bounds() {
        assert_eq!(bounds(json!({"minimum": 5, "maximum": 9})).sample(), 5);
        assert_eq!(bounds(json!({"exclusiveMaximum": 0})).sample(), -1);
    }
}
