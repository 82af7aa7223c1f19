//! Items of arrays.

use serde_json::{Number, Value};

use super::{
    facet::{Facet, PlaceStep},
    number::order,
    proof::{Known, Proof},
    schema_at::SchemaAt,
};

/// The schema of the item at `index`; none where it may be anything.
fn item(schema: SchemaAt<'_>, index: usize) -> Option<SchemaAt<'_>> {
    schema.list("prefixItems").nth(index).or_else(|| schema.below("items"))
}

impl Known<'_> {
    /// Whether there are at most so many items.
    fn has_at_most(&self, items: usize) -> bool {
        let most = |bound: &Number| order(bound, &Number::from(items)).is_some_and(std::cmp::Ordering::is_le);
        self.said("maxItems").filter_map(Value::as_number).any(most)
            || self.parts.iter().any(|part| part.refuses("items") && part.list("prefixItems").count() <= items)
    }
}

impl Proof {
    pub(super) fn arrays(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        self.count(known, larger, Facet::ItemCount, ("minItems", "maxItems"), 0);
        if larger.get("items").is_some() || larger.get("prefixItems").is_some() {
            let places = known.parts.iter().chain([&larger]).map(|part| part.list("prefixItems").count()).max();
            // One place more than are told apart stands for all further ones.
            for index in 0..=places.unwrap_or_default() {
                self.item(known, larger, index);
            }
        }
        let unique = |part: &SchemaAt<'_>| part.get("uniqueItems") == Some(&Value::Bool(true));
        if unique(&larger) && !known.parts.iter().any(unique) && !known.has_at_most(1) {
            self.obstacle(Facet::UniqueItems, "", "unique");
        }
        self.contains(known, larger);
        if let Some(wanted) = larger.get("unevaluatedItems").filter(|wanted| **wanted != Value::Bool(true)) {
            let is_refused = *wanted == Value::Bool(false) && known.has_at_most(0);
            if !is_refused {
                self.obstacle(Facet::Unevaluated, "", "unevaluatedItems");
            }
        }
    }

    fn item(&mut self, known: &Known<'_>, larger: SchemaAt<'_>, index: usize) {
        let Some(wanted) = item(larger, index) else { return };
        if known.has_at_most(index) {
            return;
        }
        let elsewhere = known.in_place().len() > known.parts.len();
        let items: Vec<SchemaAt<'_>> = known.parts.iter().filter_map(|part| item(*part, index)).collect();
        let item = Known::new(items, known.names_members && !elsewhere);
        if *wanted.value == Value::Bool(false) {
            if !item.types.is_empty() {
                self.obstacle(Facet::Items, "more items", &format!("at most {index}"));
            }
            return;
        }
        self.at(PlaceStep::Items, |proof| proof.prove(&item, wanted));
    }

    fn contains(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        let Some(wanted) = larger.below("contains") else { return };
        let count = |schema: SchemaAt<'_>, keyword| schema.get(keyword).and_then(Value::as_u64);
        let (least, most) = (count(larger, "minContains").unwrap_or(1), count(larger, "maxContains"));
        let held = known.parts.iter().any(|part| {
            let known_most = count(*part, "maxContains");
            part.below("contains").is_some_and(|said| self.is_same(said, wanted))
                && count(*part, "minContains").unwrap_or(1) >= least
                && most.is_none_or(|most| known_most.is_some_and(|known| known <= most))
        });
        let is_nothing = least == 0 && most.is_none();
        if !is_nothing && !held {
            self.differs(Facet::Contains, known.said("contains").next(), wanted.value);
        }
    }
}
