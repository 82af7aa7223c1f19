//! Reading a key of an object, to know the guide of its value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

use crate::guide::{FieldsGuide, Guide};

/// A seed, deserializer or visitor of a key; what it reads decides `value`.
pub(super) struct KeyVisitor<'g, 'v, T> {
    pub(super) inner: T,
    /// The rules of the object; without any, no key is looked up.
    pub(super) fields: Option<&'g FieldsGuide>,
    pub(super) value: &'v mut Option<&'g Guide>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for KeyVisitor<'_, '_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(KeyVisitor { inner, fields: self.fields, value: self.value })
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for KeyVisitor<'_, '_, D> {
    type Error = D::Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_identifier(KeyVisitor { inner: visitor, fields: self.fields, value: self.value })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for KeyVisitor<'_, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        if let Some(fields) = self.fields {
            *self.value = fields.field(name);
        }
        self.inner.visit_str(name)
    }

    #[inline]
    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<V::Value, E> {
        if let Some(fields) = self.fields {
            *self.value = fields.field(name);
        }
        self.inner.visit_borrowed_str(name)
    }
}
