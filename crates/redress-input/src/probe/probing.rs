//! The deserializer that answers a type from a schema and notes what the type asks for.

use std::collections::HashSet;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{Deserializer, Visitor};

use super::sample::{SampleEntries, SampleItems, SampleRefused};
use super::{ProbePlan, ProbeTrial};
use crate::bounds::Figure;
use crate::node::{DecodeKind, DecodeNode};

/// The name under which `serde_json` hands out unparsed JSON.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A name that no author uses for a field or a variant.
pub(super) const UNKNOWN: &str = "\u{1}unknown";

#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    node: &'a DecodeNode,
    trial: &'a ProbeTrial,
}

impl<'a> Probe<'a> {
    pub(super) fn new(node: &'a DecodeNode, trial: &'a ProbeTrial) -> Self {
        Self { node, trial }
    }

    fn note(self, proved: bool) {
        self.trial.note(self.node, proved);
    }

    /// The type asks for what the schema does not promise.
    fn contradict<T>(self) -> Result<T, SampleRefused> {
        self.trial.contradicted.set(true);
        Err(SampleRefused)
    }

    fn items<'de, V: Visitor<'de>>(self, exactly: Option<usize>, visitor: V) -> Result<V::Value, SampleRefused> {
        match &self.node.kind {
            DecodeKind::List(list) => {
                let exact = exactly.is_some() && list.min == exactly && list.max == exactly;
                self.note(exact || (list.min.is_none() && list.max.is_none()));
                let count = exactly.or(list.min).unwrap_or(1);
                visitor.visit_seq(SampleItems::repeat(&list.item, count, self.trial))
            }
            DecodeKind::Tuple(items) if exactly == Some(items.len()) => {
                self.note(true);
                visitor.visit_seq(SampleItems::each(items, self.trial))
            }
            DecodeKind::Any => {
                self.note(true);
                visitor.visit_seq(SampleItems::each(&[], self.trial))
            }
            DecodeKind::Tuple(_)
            | DecodeKind::Null
            | DecodeKind::Bool
            | DecodeKind::Number(_)
            | DecodeKind::Text(_)
            | DecodeKind::Fields(_)
            | DecodeKind::Map(_) => self.contradict(),
        }
    }

    /// The schema wants no more here than that there is something.
    fn is_any(self) -> bool {
        let any = matches!(self.node.kind, DecodeKind::Any);
        if any {
            self.note(true);
        }
        any
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        if let DecodeKind::Text(text) = &self.node.kind {
            self.note(text.is_empty());
            return visitor.visit_str(&text.sample);
        }
        if self.is_any() { visitor.visit_str("a") } else { self.contradict() }
    }

    /// `range` is what the type holds, where a comparison with it is exact.
    fn real<'de, V: Visitor<'de>>(
        self,
        range: Option<(Figure, Figure)>,
        visitor: V,
    ) -> Result<V::Value, SampleRefused> {
        if let DecodeKind::Number(bounds) = &self.node.kind
            && !bounds.whole
        {
            let kept = range.is_some_and(|range| bounds.contain(range));
            self.note(kept || bounds.is_empty());
            return visitor.visit_i64(bounds.sample());
        }
        if self.is_any() { visitor.visit_f64(1.0) } else { self.contradict() }
    }

    /// `range` is what the type holds, where a comparison with it is exact.
    fn whole<'de, V: Visitor<'de>>(
        self,
        range: Option<(Figure, Figure)>,
        visitor: V,
    ) -> Result<V::Value, SampleRefused> {
        let sample = if let DecodeKind::Number(bounds) = &self.node.kind {
            let kept = range.is_some_and(|range| bounds.contain(range));
            self.note(kept || bounds.is_empty());
            bounds.sample()
        } else if self.is_any() {
            1
        } else {
            return self.contradict();
        };
        match u64::try_from(sample) {
            Ok(sample) => visitor.visit_u64(sample),
            Err(_) => visitor.visit_i64(sample),
        }
    }

    fn null<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        if matches!(self.node.kind, DecodeKind::Null | DecodeKind::Any) {
            self.note(true);
            return visitor.visit_unit();
        }
        self.contradict()
    }
}

macro_rules! whole {
    ($($method:ident: $type:ty,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
            let range = (
                Figure::Whole(<$type>::MIN.into()),
                Figure::Whole(<$type>::MAX.into()),
            );
            self.whole(Some(range), visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = SampleRefused;

    whole! {
        deserialize_u8: u8,
        deserialize_u16: u16,
        deserialize_u32: u32,
        deserialize_u64: u64,
        deserialize_i8: i8,
        deserialize_i16: i16,
        deserialize_i32: i32,
        deserialize_i64: i64,
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.whole(None, visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.whole(None, visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        let range = (Figure::Real(f32::MIN.into()), Figure::Real(f32::MAX.into()));
        self.real(Some(range), visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.real(None, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        if self.is_any() { visitor.visit_unit() } else { self.contradict() }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        if matches!(self.node.kind, DecodeKind::Bool | DecodeKind::Any) {
            self.note(true);
            return visitor.visit_bool(true);
        }
        self.contradict()
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        let DecodeKind::Text(text) = &self.node.kind else {
            return self.text(visitor);
        };
        self.note(text.is_empty() || text.contain_chars());
        if self.trial.plan == ProbePlan::ForeignText(self.node.id) {
            return visitor.visit_str(UNKNOWN);
        }
        visitor.visit_char(text.sample.chars().next().unwrap_or('a'))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.text(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.text(visitor)
    }

    // Bytes are decoded from a string and from an array alike, and a schema names one of the two.
    fn deserialize_bytes<V: Visitor<'de>>(self, _: V) -> Result<V::Value, SampleRefused> {
        self.contradict()
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, _: V) -> Result<V::Value, SampleRefused> {
        self.contradict()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        if matches!(self.node.kind, DecodeKind::Any) {
            self.note(true);
            return visitor.visit_none();
        }
        if self.node.nullable {
            return visitor.visit_some(self);
        }
        self.contradict()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.null(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, SampleRefused> {
        self.null(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SampleRefused> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        if !matches!(self.node.kind, DecodeKind::Any) {
            return self.contradict();
        }
        self.note(true);
        visitor.visit_map(MapDeserializer::new(std::iter::once((name, "null"))))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        self.items(None, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, SampleRefused> {
        self.items(Some(len), visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, SampleRefused> {
        self.items(Some(len), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        if let DecodeKind::Map(value) = &self.node.kind {
            self.note(true);
            return visitor.visit_map(SampleEntries::one("a", value, self.trial));
        }
        if self.is_any() { visitor.visit_map(SampleEntries::none(self.trial)) } else { self.contradict() }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SampleRefused> {
        let DecodeKind::Fields(fields) = &self.node.kind else {
            if self.is_any() {
                return visitor.visit_map(SampleEntries::none(self.trial));
            }
            return self.contradict();
        };
        // An alias would let a value in under a name that no rule looks at.
        // The names are the same in every trial.
        if self.trial.plan == ProbePlan::Sample {
            let known: HashSet<&str> = fields.known.iter().map(|field| field.name.as_str()).collect();
            if !names.iter().all(|name| known.contains(name)) {
                return self.contradict();
            }
        }
        self.note(true);
        let entries = match self.trial.plan {
            ProbePlan::UnknownField(id) if id == self.node.id => SampleEntries::of(fields, self.trial).and_unknown(),
            ProbePlan::MissingField(id, index) if id == self.node.id => {
                SampleEntries::of(fields, self.trial).without(index)
            }
            ProbePlan::Sample
            | ProbePlan::UnknownField(_)
            | ProbePlan::MissingField(..)
            | ProbePlan::ForeignText(_) => SampleEntries::of(fields, self.trial),
        };
        visitor.visit_map(entries)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SampleRefused> {
        let sample = if let DecodeKind::Text(text) = &self.node.kind {
            self.note(text.is_empty() || text.contain_variants(variants));
            text.sample.as_str()
        } else if self.is_any() {
            variants.first().copied().unwrap_or_default()
        } else {
            return self.contradict();
        };
        let fed = if self.trial.plan == ProbePlan::ForeignText(self.node.id) { UNKNOWN } else { sample };
        visitor.visit_enum(StrDeserializer::new(fed))
    }

    // Decoding strictly, this is the sign of an unknown field, so a known field must not give it.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, SampleRefused> {
        self.contradict()
    }
}
