//! The lists and objects that a type is tried with.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::ProbeTrial;
use super::probing::{Probe, UNKNOWN};
use crate::node::{DecodeFields, DecodeNode};

/// The type refused what it was tried with. Why does not matter.
#[derive(Debug)]
pub(super) struct SampleRefused;

impl fmt::Display for SampleRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type refused a sample of its schema")
    }
}

impl std::error::Error for SampleRefused {}

impl serde::de::Error for SampleRefused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// The items of a list or tuple.
pub(super) struct SampleItems<'a> {
    nodes: Vec<&'a DecodeNode>,
    next: usize,
    trial: &'a ProbeTrial,
}

impl<'a> SampleItems<'a> {
    /// The same item, a few times.
    pub(super) fn repeat(node: &'a DecodeNode, count: usize, trial: &'a ProbeTrial) -> Self {
        // Arrays of fixed length that serde decodes have at most 32 items.
        const MAX: usize = 64;
        Self { nodes: vec![node; count.min(MAX)], next: 0, trial }
    }

    /// Each item once.
    pub(super) fn each(nodes: &'a [DecodeNode], trial: &'a ProbeTrial) -> Self {
        Self { nodes: nodes.iter().collect(), next: 0, trial }
    }
}

impl<'de> SeqAccess<'de> for SampleItems<'_> {
    type Error = SampleRefused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, SampleRefused> {
        let Some(node) = self.nodes.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        seed.deserialize(Probe::new(node, self.trial)).map(Some)
    }
}

/// The entries of an object; one without a node is an unknown field.
pub(super) struct SampleEntries<'a> {
    entries: Vec<(&'a str, Option<&'a DecodeNode>)>,
    next: usize,
    trial: &'a ProbeTrial,
}

impl<'a> SampleEntries<'a> {
    pub(super) fn none(trial: &'a ProbeTrial) -> Self {
        Self { entries: Vec::new(), next: 0, trial }
    }

    pub(super) fn one(name: &'a str, value: &'a DecodeNode, trial: &'a ProbeTrial) -> Self {
        Self { entries: vec![(name, Some(value))], next: 0, trial }
    }

    pub(super) fn of(fields: &'a DecodeFields, trial: &'a ProbeTrial) -> Self {
        let entries = fields.known.iter().map(|field| (field.name.as_str(), Some(&field.node)));
        Self { entries: entries.collect(), next: 0, trial }
    }

    pub(super) fn and_unknown(mut self) -> Self {
        self.entries.push((UNKNOWN, None));
        self
    }

    pub(super) fn without(mut self, index: usize) -> Self {
        self.entries.remove(index);
        self
    }
}

impl<'de> MapAccess<'de> for SampleEntries<'_> {
    type Error = SampleRefused;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, SampleRefused> {
        match self.entries.get(self.next) {
            Some((name, _)) => seed.deserialize(StrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, SampleRefused> {
        let entry = self.entries.get(self.next);
        self.next += 1;
        match entry {
            Some((_, Some(node))) => seed.deserialize(Probe::new(node, self.trial)),
            Some((_, None)) => seed.deserialize(UnknownValue),
            None => Err(SampleRefused),
        }
    }
}

/// The value of an unknown field: refused when it is to be passed over, as it is at a call.
struct UnknownValue;

impl<'de> Deserializer<'de> for UnknownValue {
    type Error = SampleRefused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SampleRefused> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, SampleRefused> {
        Err(SampleRefused)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}
