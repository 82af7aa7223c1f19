//! The members that two schemas name, side by side.

use std::collections::{BTreeSet, HashSet};

use super::{facet::PlaceStep, schema_at::SchemaAt};

/// How many members are looked at.
const MAX_MEMBERS: usize = 5_000;
/// How deep they may lie.
const MAX_DEPTH: usize = 24;

/// One member, or the whole value, with the schemas that speak of it before and after. One side is empty where the member
/// has no name there.
#[derive(Clone, Debug)]
pub(crate) struct MemberPair<'s> {
    pub(crate) place: Vec<PlaceStep>,
    pub(crate) before: Vec<SchemaAt<'s>>,
    pub(crate) after: Vec<SchemaAt<'s>>,
    /// Whether the object that it stands in requires it, before and after.
    pub(crate) required: (bool, bool),
}

impl MemberPair<'_> {
    /// What the first schema of a side that speaks of it says under `keyword`.
    pub(crate) fn said<'v>(side: &[SchemaAt<'v>], keyword: &str) -> Option<&'v serde_json::Value> {
        side.iter().flat_map(|schema| schema.conjuncts()).find_map(|schema| schema.get(keyword))
    }
}

/// Every member that both name, or only one of the two, the whole value first.
pub(crate) fn members<'s>(before: SchemaAt<'s>, after: SchemaAt<'s>) -> Vec<MemberPair<'s>> {
    let whole = MemberPair { place: Vec::new(), before: vec![before], after: vec![after], required: (true, true) };
    let mut found = Vec::new();
    let mut seen: HashSet<(Vec<usize>, Vec<usize>)> = HashSet::new();
    let mut left = vec![whole];
    while let Some(pair) = left.pop() {
        if found.len() == MAX_MEMBERS {
            break;
        }
        let is_both = !pair.before.is_empty() && !pair.after.is_empty();
        let is_new = seen.insert((addresses(&pair.before), addresses(&pair.after)));
        if is_both && is_new && pair.place.len() < MAX_DEPTH {
            left.extend(below(&pair));
        }
        found.push(pair);
    }
    found.sort_by(|one, other| one.place.cmp(&other.place));
    found
}

fn addresses(schemas: &[SchemaAt<'_>]) -> Vec<usize> {
    let mut all: Vec<usize> = schemas.iter().map(|schema| schema.address()).collect();
    all.sort_unstable();
    all
}

fn below<'s>(pair: &MemberPair<'s>) -> Vec<MemberPair<'s>> {
    let in_place = |schemas: &[SchemaAt<'s>]| -> Vec<SchemaAt<'s>> {
        schemas.iter().flat_map(|schema| schema.in_place()).collect()
    };
    let (before, after) = (in_place(&pair.before), in_place(&pair.after));
    let names: BTreeSet<&str> =
        before.iter().chain(&after).flat_map(|schema| schema.named("properties").map(|(name, _)| name)).collect();
    let member = |schemas: &[SchemaAt<'s>], name: &str| -> Vec<SchemaAt<'s>> {
        schemas.iter().filter_map(|schema| schema.property(name)).collect()
    };
    let requires = |schemas: &[SchemaAt<'s>], name: &str| {
        let conjuncts = schemas.iter().flat_map(|schema| schema.conjuncts());
        conjuncts.into_iter().any(|schema| schema.texts("required").any(|known| known == name))
    };
    let step = |step: PlaceStep| pair.place.iter().cloned().chain([step]).collect::<Vec<_>>();
    let mut made: Vec<MemberPair<'s>> = names
        .into_iter()
        .map(|name| MemberPair {
            place: step(PlaceStep::Member(name.to_owned())),
            before: member(&before, name),
            after: member(&after, name),
            required: (requires(&pair.before, name), requires(&pair.after, name)),
        })
        .collect();
    let items = |schemas: &[SchemaAt<'s>]| -> Vec<SchemaAt<'s>> {
        schemas.iter().flat_map(|schema| schema.list("prefixItems").chain(schema.below("items"))).collect()
    };
    let others = |schemas: &[SchemaAt<'s>]| -> Vec<SchemaAt<'s>> {
        schemas
            .iter()
            .filter_map(|schema| schema.below("additionalProperties"))
            .filter(|one| one.value.is_object())
            .collect()
    };
    for (kind, one, other) in
        [(PlaceStep::Items, items(&before), items(&after)), (PlaceStep::OtherMembers, others(&before), others(&after))]
    {
        if !one.is_empty() && !other.is_empty() {
            made.push(MemberPair { place: step(kind), before: one, after: other, required: (true, true) });
        }
    }
    made
}
