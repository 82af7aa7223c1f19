//! The deserializer between a type and its document.
//!
//! It is stricter than serde where serde accepts what no schema says (an unknown field, an array in
//! place of a struct, `{"variant": null}` in place of `"variant"`), laxer where JSON Schema is (`1.0`
//! is an integer), and takes a guide along where there are rules that the type does not know.
//! Where there is no guide it adds nothing but a visitor around the type's own.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::guide::Guide;
use super::visit::{Along, CheckedLeaf, EnumVariant, Integer, Single, Struct};

/// A deserializer, with the rules for what comes out of it.
pub(super) struct Strict<'g, D> {
    inner: D,
    guide: Option<&'g Guide>,
}

impl<'g, D> Strict<'g, D> {
    pub(super) fn new(inner: D, guide: Option<&'g Guide>) -> Self {
        Self { inner, guide }
    }

    fn along<V>(visitor: V, guide: Option<&'g Guide>) -> Along<'g, V> {
        // A field that its type did not pass over is like any other.
        let guide = guide.filter(|guide| !matches!(guide, Guide::Loose));
        Along { visitor, guide }
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty,)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(Integer::<V, $type>::new(visitor, self.guide))
        }
    )*};
}

macro_rules! leaves {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            match self.guide {
                None => self.inner.$method(visitor),
                Some(guide) => self.inner.$method(CheckedLeaf { visitor, guide }),
            }
        }
    )*};
}

macro_rules! along {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(
            self,
            $($name: $type,)*
            visitor: V,
        ) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Self::along(visitor, self.guide))
        }
    )*};
}

macro_rules! unruled {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(
            self,
            $($name: $type,)*
            visitor: V,
        ) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, D> {
    type Error = D::Error;

    integers! {
        deserialize_u8: u8,
        deserialize_u16: u16,
        deserialize_u32: u32,
        deserialize_u64: u64,
        deserialize_i8: i8,
        deserialize_i16: i16,
        deserialize_i32: i32,
        deserialize_i64: i64,
    }

    leaves! {
        deserialize_f64
        deserialize_str
        deserialize_string
        deserialize_char
        deserialize_identifier
    }

    along! {
        deserialize_option();
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
    }

    // No rule applies here: a shape asks the validator as soon as a type asks for `any` or for bytes
    // where its schema says more than "anything".
    unruled! {
        deserialize_any();
        deserialize_bool();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let raw = <Box<RawValue>>::deserialize(self.inner)?;
        Integer::<V, i128>::new(visitor, self.guide).visit_text(raw.get())
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let raw = <Box<RawValue>>::deserialize(self.inner)?;
        Integer::<V, u128>::new(visitor, self.guide).visit_text(raw.get())
    }

    // Read as a double and then narrowed: whether serde_json refuses or makes an infinity of a number
    // too large for a single depends on its features.
    #[inline]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_f64(Single { visitor, guide: self.guide })
    }

    // A derived struct would take an array of its fields as well; asking for a map refuses it.
    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(Struct { visitor, guide: self.guide })
    }

    // Only enums of plain strings come here: one with content is described by a union, which is left
    // to the validator.
    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_str(EnumVariant { visitor, guide: self.guide })
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        match self.guide {
            // Read as a value, since skipping would not notice broken text or numbers.
            Some(Guide::Loose) => {
                Value::deserialize(self.inner)?;
                visitor.visit_unit()
            }
            _ => Err(D::Error::custom("unknown field")),
        }
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}
