//! The visitors around a type's own: they hand the guide on, and check.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::guide::{FieldsGuide, Guide, ListGuide};
use super::strict::Strict;

mod integer;
mod key;
mod leaf;

pub(super) use integer::Integer;
use key::KeyVisitor;
pub(super) use leaf::{CheckedLeaf, EnumVariant, Single};

fn broken<E: Error>() -> E {
    E::custom("a rule of the schema is broken")
}

/// Takes the guide into lists, objects and wrappers.
pub(super) struct Along<'g, V> {
    pub(super) visitor: V,
    pub(super) guide: Option<&'g Guide>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Along<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    #[inline]
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Strict::new(inner, self.guide))
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Strict::new(inner, self.guide))
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let mut items = SeqItems { inner, guide: self.guide, seen: 0 };
        let value = self.visitor.visit_seq(&mut items)?;
        items.finish()?;
        Ok(value)
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let value = match self.guide {
            Some(Guide::Map(value)) => Some(&**value),
            _ => None,
        };
        self.visitor.visit_map(MapEntries { inner, value })
    }
}

/// Takes the guide into the fields of a struct.
pub(super) struct Struct<'g, V> {
    pub(super) visitor: V,
    pub(super) guide: Option<&'g Guide>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Struct<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let fields = match self.guide {
            Some(Guide::Fields(fields)) => Some(fields),
            _ => None,
        };
        self.visitor.visit_map(StructFields { inner, fields, value: None })
    }
}

/// Decodes one value with its guide.
struct Seed<'g, S> {
    seed: S,
    guide: Option<&'g Guide>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(Strict::new(inner, self.guide))
    }
}

/// The items of a list or tuple.
struct SeqItems<'g, A> {
    inner: A,
    guide: Option<&'g Guide>,
    seen: usize,
}

impl<'g, A> SeqItems<'g, A> {
    fn next_guide(&self) -> Option<&'g Guide> {
        match self.guide? {
            Guide::List(list) => list.item.as_deref(),
            Guide::Tuple(items) => items.get(self.seen)?.as_ref(),
            Guide::Number(_) | Guide::Text(_) | Guide::Fields(_) | Guide::Map(_) | Guide::Loose => None,
        }
    }

    fn finish<E: Error>(&self) -> Result<(), E> {
        match self.guide {
            Some(Guide::List(ListGuide { min, max, .. }))
                if min.is_some_and(|min| self.seen < min) || max.is_some_and(|max| self.seen > max) =>
            {
                Err(broken())
            }
            _ => Ok(()),
        }
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for SeqItems<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let guide = self.next_guide();
        let item = self.inner.next_element_seed(Seed { seed, guide })?;
        self.seen += usize::from(item.is_some());
        Ok(item)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The entries of a map, whose values all have the same guide.
struct MapEntries<'g, A> {
    inner: A,
    value: Option<&'g Guide>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for MapEntries<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(seed)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Seed { seed, guide: self.value })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The fields of a struct, each with a guide of its own.
struct StructFields<'g, A> {
    inner: A,
    fields: Option<&'g FieldsGuide>,
    /// The guide of the value whose key was read last.
    value: Option<&'g Guide>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for StructFields<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(KeyVisitor { inner: seed, fields: self.fields, value: &mut self.value })
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Seed { seed, guide: self.value })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}
