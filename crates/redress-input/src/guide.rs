//! The rules that are left to check while a type is decoded.

use super::bounds::NumberBounds;
use super::node::{DecodeKind, DecodeNode};
use super::string_rules::StringRules;

/// Rules at one place of an input and below; a place without any has no guide.
#[derive(Debug)]
pub(super) enum Guide {
    /// Rules of a number.
    Number(NumberBounds),
    /// Rules of a string.
    Text(StringRules),
    /// Rules of a list and its items.
    List(ListGuide),
    /// Rules of a tuple's items.
    Tuple(Vec<Option<Guide>>),
    /// Rules of an object with known fields.
    Fields(FieldsGuide),
    /// Rules of the values of a map.
    Map(Box<Guide>),
    /// No rules, but a field of an open object: it may be passed over.
    Loose,
}

/// The guide of a field without rules in an open object.
pub(super) static LOOSE: Guide = Guide::Loose;

/// Rules of a list.
#[derive(Debug)]
pub(super) struct ListGuide {
    pub(super) item: Option<Box<Guide>>,
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
}

/// Rules of an object.
#[derive(Debug)]
pub(super) struct FieldsGuide {
    ruled: Vec<(Box<str>, Guide)>,
    /// Whether fields that the type does not know are passed over.
    open: bool,
}

impl FieldsGuide {
    /// The guide for the value of `name`.
    pub(super) fn field(&self, name: &str) -> Option<&Guide> {
        self.ruled.iter().find(|(known, _)| **known == *name).map(|(_, guide)| guide).or(self.open.then_some(&LOOSE))
    }
}

impl Guide {
    /// What is left of `node` once the rules that the type itself keeps are taken away; `proof` says
    /// by node id whether it does.
    pub(super) fn of(node: DecodeNode, proof: &[bool]) -> Option<Self> {
        let proved = proof.get(node.id).copied().unwrap_or(false);
        match node.kind {
            DecodeKind::Any | DecodeKind::Null | DecodeKind::Bool => None,
            DecodeKind::Number(bounds) => (!proved).then_some(Self::Number(bounds)),
            DecodeKind::Text(text) => (!proved).then_some(Self::Text(text)),
            DecodeKind::List(list) => {
                let item = Self::of(*list.item, proof).map(Box::new);
                let (min, max) = if proved { (None, None) } else { (list.min, list.max) };
                (item.is_some() || min.is_some() || max.is_some()).then_some(Self::List(ListGuide { item, min, max }))
            }
            DecodeKind::Tuple(items) => {
                let items: Vec<_> = items.into_iter().map(|item| Self::of(item, proof)).collect();
                items.iter().any(Option::is_some).then_some(Self::Tuple(items))
            }
            DecodeKind::Map(value) => Self::of(*value, proof).map(|value| Self::Map(Box::new(value))),
            DecodeKind::Fields(fields) => {
                let ruled: Vec<_> = fields
                    .known
                    .into_iter()
                    .filter_map(|field| {
                        let guide = Self::of(field.node, proof)?;
                        Some((field.name.into_boxed_str(), guide))
                    })
                    .collect();
                let open = fields.open;
                (open || !ruled.is_empty()).then_some(Self::Fields(FieldsGuide { ruled, open }))
            }
        }
    }
}
