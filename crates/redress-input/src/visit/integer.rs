//! Visitors of integers, which accept `1.0` and `1e2` as JSON Schema does.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};

use super::broken;
use crate::bounds::Figure;
use crate::guide::Guide;

/// Hands an integer of width `W` to the type's own visitor, within the rules.
pub(crate) struct Integer<'g, V, W> {
    visitor: V,
    guide: Option<&'g Guide>,
    width: PhantomData<W>,
}

impl<'g, V, W> Integer<'g, V, W> {
    pub(crate) fn new(visitor: V, guide: Option<&'g Guide>) -> Self {
        Self { visitor, guide, width: PhantomData }
    }

    #[inline]
    fn admit<E: Error>(&self, figure: Figure) -> Result<(), E> {
        match self.guide {
            Some(Guide::Number(bounds)) if !bounds.admit(figure) => Err(broken()),
            _ => Ok(()),
        }
    }
}

/// What an integer type of at most 64 bits holds.
pub(crate) trait Width {
    const LOW: i64;
    const HIGH: u64;
}

macro_rules! widths {
    ($($type:ty)*) => {$(
        impl Width for $type {
            const LOW: i64 = <$type>::MIN as i64;
            const HIGH: u64 = <$type>::MAX as u64;
        }
    )*};
}

widths! { u8 u16 u32 u64 i8 i16 i32 i64 }

impl<'de, V: Visitor<'de>, W: Width> Visitor<'de> for Integer<'_, V, W> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    // The width is checked here too, so that a decoder which asks for a `u8` and takes more
    // cannot undo what asking for a `u8` proved.
    #[inline]
    fn visit_u64<E: Error>(self, whole: u64) -> Result<V::Value, E> {
        if whole > W::HIGH {
            return Err(broken());
        }
        self.admit(Figure::Whole(whole.into()))?;
        self.visitor.visit_u64(whole)
    }

    #[inline]
    fn visit_i64<E: Error>(self, whole: i64) -> Result<V::Value, E> {
        if whole < W::LOW {
            return Err(broken());
        }
        self.admit(Figure::Whole(whole.into()))?;
        self.visitor.visit_i64(whole)
    }

    #[cold]
    fn visit_f64<E: Error>(self, real: f64) -> Result<V::Value, E> {
        match whole_of(real) {
            Some(whole) if whole < 0 => match i64::try_from(whole) {
                Ok(whole) => self.visit_i64(whole),
                Err(_) => Err(broken()),
            },
            Some(whole) => match u64::try_from(whole) {
                Ok(whole) => self.visit_u64(whole),
                Err(_) => Err(broken()),
            },
            None => Err(broken()),
        }
    }
}

fn whole_of(real: f64) -> Option<i128> {
    // Two to the 127th, beyond which the cast would not be exact.
    const REACH: f64 = i128::MAX as f64;
    (real.fract() == 0.0 && (-REACH..REACH).contains(&real)).then_some(real as i128)
}

impl<'de, V: Visitor<'de>> Integer<'_, V, i128> {
    /// Reads the integer from the text of a JSON value.
    pub(crate) fn visit_text<E: Error>(self, text: &str) -> Result<V::Value, E> {
        let Ok(whole) = text.parse::<i128>() else {
            let whole = number(text).and_then(whole_of).ok_or_else(broken)?;
            self.admit(Figure::Whole(whole))?;
            return self.visitor.visit_i128(whole);
        };
        self.admit(Figure::Whole(whole))?;
        self.visitor.visit_i128(whole)
    }
}

impl<'de, V: Visitor<'de>> Integer<'_, V, u128> {
    /// Reads the integer from the text of a JSON value.
    pub(crate) fn visit_text<E: Error>(self, text: &str) -> Result<V::Value, E> {
        const ABOVE: f64 = u128::MAX as f64;
        let whole = match text.parse::<u128>() {
            Ok(whole) => whole,
            Err(_) => number(text)
                .filter(|real| real.fract() == 0.0 && (0.0..ABOVE).contains(real))
                .map(|real| real as u128)
                .ok_or_else(broken)?,
        };
        // What no `i128` holds is rounded for the comparison, as it is for a validator.
        let figure = i128::try_from(whole).map_or(Figure::Real(whole as f64), Figure::Whole);
        self.admit(figure)?;
        self.visitor.visit_u128(whole)
    }
}

/// The text as a number, if JSON spells one so. Rust would also read `inf`, which no document holds.
fn number(text: &str) -> Option<f64> {
    serde_json::from_str(text).ok()
}
