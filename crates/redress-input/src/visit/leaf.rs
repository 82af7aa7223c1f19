//! Visitors of strings, doubles and variants.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{Error, Visitor};

use super::broken;
use crate::bounds::Figure;
use crate::guide::Guide;

/// Checks a string or a number before the type sees it.
pub(crate) struct CheckedLeaf<'g, V> {
    pub(crate) visitor: V,
    pub(crate) guide: &'g Guide,
}

impl<V> CheckedLeaf<'_, V> {
    fn text<E: Error>(&self, text: &str) -> Result<(), E> {
        if let Guide::Text(rules) = self.guide
            && !rules.admit(text)
        {
            return Err(broken());
        }
        Ok(())
    }

    fn figure<E: Error>(&self, figure: Figure) -> Result<(), E> {
        if let Guide::Number(bounds) = self.guide
            && !bounds.admit(figure)
        {
            return Err(broken());
        }
        Ok(())
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for CheckedLeaf<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.text(text)?;
        self.visitor.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.text(text)?;
        self.visitor.visit_borrowed_str(text)
    }

    fn visit_u64<E: Error>(self, whole: u64) -> Result<V::Value, E> {
        self.figure(Figure::Whole(whole.into()))?;
        self.visitor.visit_u64(whole)
    }

    fn visit_i64<E: Error>(self, whole: i64) -> Result<V::Value, E> {
        self.figure(Figure::Whole(whole.into()))?;
        self.visitor.visit_i64(whole)
    }

    fn visit_f64<E: Error>(self, real: f64) -> Result<V::Value, E> {
        self.figure(Figure::Real(real))?;
        self.visitor.visit_f64(real)
    }
}

/// Keeps a number within what an `f32` holds.
pub(crate) struct Single<'g, V> {
    pub(crate) visitor: V,
    pub(crate) guide: Option<&'g Guide>,
}

impl<V> Single<'_, V> {
    fn admit<E: Error>(&self, figure: Figure) -> Result<(), E> {
        match self.guide {
            Some(Guide::Number(bounds)) if !bounds.admit(figure) => Err(broken()),
            _ => Ok(()),
        }
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Single<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_u64<E: Error>(self, whole: u64) -> Result<V::Value, E> {
        self.admit(Figure::Whole(whole.into()))?;
        self.visitor.visit_u64(whole)
    }

    fn visit_i64<E: Error>(self, whole: i64) -> Result<V::Value, E> {
        self.admit(Figure::Whole(whole.into()))?;
        self.visitor.visit_i64(whole)
    }

    fn visit_f64<E: Error>(self, real: f64) -> Result<V::Value, E> {
        if real.abs() > f64::from(f32::MAX) {
            return Err(broken());
        }
        self.admit(Figure::Real(real))?;
        self.visitor.visit_f64(real)
    }
}

/// Turns a string into a variant of an enum.
pub(crate) struct EnumVariant<'g, V> {
    pub(crate) visitor: V,
    pub(crate) guide: Option<&'g Guide>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for EnumVariant<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        if let Some(Guide::Text(rules)) = self.guide
            && !rules.admit(name)
        {
            return Err(broken());
        }
        self.visitor.visit_enum(StrDeserializer::new(name))
    }
}
