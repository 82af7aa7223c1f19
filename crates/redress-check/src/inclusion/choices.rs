//! Schemas that are made of others: alternatives, exclusions and conditions.

use super::{
    accepts::same,
    facet::Facet,
    proof::{Known, Proof},
    schema_at::SchemaAt,
    value_types::ValueTypes,
};

/// How deep members are looked at to tell two schemas apart.
const MAX_APART: usize = 3;

impl Proof {
    pub(super) fn alternatives(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        for part in larger.list("allOf") {
            self.prove(known, part);
        }
        if larger.get("anyOf").is_some() && !larger.list("anyOf").any(|one| self.shows(known, one)) {
            self.obstacle(Facet::Alternatives, "", "anyOf");
        }
        if larger.get("oneOf").is_some() && !self.one_of(known, larger) {
            self.obstacle(Facet::Alternatives, "", "oneOf");
        }
        if let Some(excluded) = larger.below("not")
            && !self.excluded(known, excluded)
        {
            self.obstacle(Facet::Exclusion, "", "not");
        }
        if larger.get("if").is_some() && !self.conditional(known, larger) {
            self.obstacle(Facet::Condition, "", "if");
        }
    }

    fn one_of(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) -> bool {
        let all: Vec<SchemaAt<'_>> = larger.list("oneOf").collect();
        for one in &all {
            // A tolerant reader takes the first that fits.
            let is_alone = self.tolerant
                || all.iter().filter(|other| other.address() != one.address()).all(|other| is_apart(known, *other, 0));
            if is_alone && self.shows(known, *one) {
                return true;
            }
        }
        // The same alternatives, in whatever order.
        known.parts.iter().filter(|part| part.get("oneOf").is_some()).any(|part| {
            let said: Vec<SchemaAt<'_>> = part.list("oneOf").collect();
            said.len() == all.len()
                && all.iter().all(|one| said.iter().any(|known| self.is_same(*known, *one)))
                && said.iter().all(|known| all.iter().any(|one| self.is_same(*known, *one)))
        })
    }

    fn excluded(&mut self, known: &Known<'_>, excluded: SchemaAt<'_>) -> bool {
        if is_apart(known, excluded, 0) {
            return true;
        }
        let others: Vec<SchemaAt<'_>> = known.parts.iter().filter_map(|part| part.below("not")).collect();
        // Members that nobody names may well be there in what is excluded, and a strict reader excludes.
        let tolerant = std::mem::replace(&mut self.tolerant, false);
        let shown = others.into_iter().any(|other| self.shows(&Known::new([excluded], false), other));
        self.tolerant = tolerant;
        shown
    }

    fn conditional(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) -> bool {
        let is_known = known.parts.iter().any(|part| {
            ["if", "then", "else"].into_iter().all(|word| match (part.below(word), larger.below(word)) {
                (Some(said), Some(wanted)) => self.is_same(said, wanted),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            })
        });
        if is_known {
            return true;
        }
        let mut shown = |word: &str| larger.below(word).is_none_or(|schema| self.shows(known, schema));
        shown("then") && shown("else")
    }
}

/// Whether no value is known and also admitted by `other`, as far as is plain.
fn is_apart(known: &Known<'_>, other: SchemaAt<'_>, depth: usize) -> bool {
    let other = Known::new([other], false);
    apart(known, &other, depth)
}

fn apart(one: &Known<'_>, other: &Known<'_>, depth: usize) -> bool {
    if !one.types.meets(other.types) {
        return true;
    }
    if let (Some(values), Some(others)) = (one.values(), other.values())
        && !values.iter().any(|value| others.iter().any(|other| same(value, other)))
    {
        return true;
    }
    let objects = one.types.and(other.types).within(ValueTypes::OBJECT);
    objects && depth < MAX_APART && members_apart(one, other, depth)
}

/// Whether a member that one of the two requires tells them apart.
fn members_apart(one: &Known<'_>, other: &Known<'_>, depth: usize) -> bool {
    required(one).into_iter().chain(required(other)).any(|name| {
        if is_refused(one, name) || is_refused(other, name) {
            return true;
        }
        let (one, other) = (named(one, name), named(other, name));
        !one.is_empty() && !other.is_empty() && apart(&Known::new(one, false), &Known::new(other, false), depth + 1)
    })
}

/// The members that are always there.
fn required<'k>(known: &'k Known<'_>) -> Vec<&'k str> {
    known.parts.iter().flat_map(|part| part.texts("required")).collect()
}

/// What speaks of a member by its name.
fn named<'s>(known: &Known<'s>, name: &str) -> Vec<SchemaAt<'s>> {
    known.parts.iter().filter_map(|part| part.property(name)).collect()
}

/// Whether a member is never there.
fn is_refused(known: &Known<'_>, name: &str) -> bool {
    known.parts.iter().any(|part| {
        part.refuses("additionalProperties") && part.get("patternProperties").is_none() && part.property(name).is_none()
    })
}
