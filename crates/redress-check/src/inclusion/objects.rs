//! Members of objects.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    accepts::accepts,
    facet::{Facet, Obstacle, PlaceStep},
    proof::{Known, Proof},
    schema_at::SchemaAt,
};

/// What a schema is known to admit as one member.
enum AdmittedMember<'s> {
    /// It is never there.
    Absent,
    /// It may be there, and then all of these admit it.
    Of(Known<'s>),
}

/// What a schema says of members that have no name in it.
enum Others<'s> {
    /// There are none.
    None,
    /// All of these admit them; where the list is empty, they may be anything.
    Of(Vec<SchemaAt<'s>>),
}

/// Whether a keyword for other members says anything.
fn constrains(schema: &Value) -> bool {
    !matches!(schema, Value::Bool(true)) && schema.as_object().is_none_or(|keywords| !keywords.is_empty())
}

/// Whether a schema speaks of members without naming them.
pub(super) fn speaks_of_unnamed(schema: SchemaAt<'_>) -> bool {
    let says =
        |keyword: &str| schema.get(keyword).is_some_and(|others| constrains(others) && *others != Value::Bool(false));
    says("additionalProperties") || says("unevaluatedProperties") || schema.get("patternProperties").is_some()
}

impl<'s> Known<'s> {
    fn has_patterns(&self) -> bool {
        self.parts.iter().any(|part| part.get("patternProperties").is_some())
    }

    /// What is known of the member `name`.
    fn member(&self, name: &str) -> AdmittedMember<'s> {
        let mut schemas = Vec::new();
        for part in &self.parts {
            if let Some(schema) = part.property(name) {
                schemas.push(schema);
            } else if part.get("patternProperties").is_none()
                && let Some(others) = part.below("additionalProperties")
            {
                if *others.value == Value::Bool(false) {
                    return AdmittedMember::Absent;
                }
                schemas.push(others);
            }
        }
        let in_place = self.in_place();
        let elsewhere =
            in_place.iter().filter(|schema| !self.parts.iter().any(|part| part.address() == schema.address()));
        let is_named_elsewhere = elsewhere.clone().any(|schema| schema.property(name).is_some());
        let is_named = is_named_elsewhere || self.parts.iter().any(|part| part.property(name).is_some());
        let unnamed_are_told = in_place.iter().any(|schema| speaks_of_unnamed(*schema));
        if !is_named && !unnamed_are_told && self.names_members {
            return AdmittedMember::Absent;
        }
        let names_members = self.names_members && !is_named_elsewhere && !unnamed_are_told;
        AdmittedMember::Of(Known::new(schemas, names_members))
    }

    /// What is known of members that have no name.
    fn others(&self) -> Others<'s> {
        let mut schemas = Vec::new();
        for part in &self.parts {
            match part.below("additionalProperties") {
                Some(others) if *others.value == Value::Bool(false) && part.get("patternProperties").is_none() => {
                    return Others::None;
                }
                Some(others) if *others.value != Value::Bool(false) => schemas.push(others),
                Some(_) | None => {}
            }
        }
        if self.parts.iter().any(|part| closes_by_names(*part)) {
            return Others::None;
        }
        Others::Of(schemas)
    }

    /// The names that any schema of this value gives to a member.
    fn names(&self) -> BTreeSet<&'s str> {
        self.in_place().iter().flat_map(|schema| schema.named("properties").map(|(name, _)| name)).collect()
    }

    fn requires(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.texts("required").any(|known| known == name))
    }
}

/// Whether `unevaluatedProperties` leaves only members that have a name.
fn closes_by_names(schema: SchemaAt<'_>) -> bool {
    schema.refuses("unevaluatedProperties")
        && schema.in_place().iter().all(|part| !speaks_of_unnamed(*part) && may_not_evaluate_all(*part))
}

/// Whether the schema has no `additionalProperties` that would evaluate every member.
fn may_not_evaluate_all(schema: SchemaAt<'_>) -> bool {
    let opens = |keyword: &str| schema.get(keyword).is_some_and(|others| *others != Value::Bool(false));
    !opens("additionalProperties") && !opens("unevaluatedProperties")
}

impl Proof {
    pub(super) fn objects(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        let required: BTreeSet<&str> = known.parts.iter().flat_map(|part| part.texts("required")).collect();
        self.count(known, larger, Facet::MemberCount, ("minProperties", "maxProperties"), required.len());
        for name in larger.texts("required").filter(|name| !known.requires(name)) {
            self.at(PlaceStep::Member(name.to_owned()), |proof| {
                proof.obstacle(Facet::Required, "optional", "required");
            });
        }
        for (name, wanted) in larger.named("properties") {
            if let AdmittedMember::Of(member) = known.member(name) {
                self.at(PlaceStep::Member(name.to_owned()), |proof| proof.prove(&member, wanted));
            }
        }
        self.patterns(known, larger);
        self.other_members(known, larger);
        self.member_names(known, larger);
        self.dependencies(known, larger);
        self.unevaluated_members(known, larger);
    }

    fn patterns(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        for (pattern, wanted) in larger.named("patternProperties") {
            let is_known = known.parts.iter().any(|part| {
                let mut said = part.named("patternProperties").filter(|(known, _)| *known == pattern);
                said.any(|(_, schema)| self.is_same(schema, wanted))
            });
            if !is_known && *wanted.value != Value::Bool(true) {
                self.obstacle(Facet::MemberNames, "", &format!("members that match {pattern}"));
            }
        }
    }

    fn other_members(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        let Some(wanted) = larger.below("additionalProperties").filter(|wanted| constrains(wanted.value)) else {
            return;
        };
        if self.tolerant && *wanted.value == Value::Bool(false) {
            return;
        }
        if larger.get("patternProperties").is_some() {
            // Which names are left to `additionalProperties` is the same where the others are.
            let names = |schema: SchemaAt<'_>, keyword: &str| -> Vec<String> {
                schema.named(keyword).map(|(name, _)| name.to_owned()).collect()
            };
            let is_known = known.parts.iter().any(|part| {
                ["properties", "patternProperties"].into_iter().all(|word| names(*part, word) == names(larger, word))
                    && part.below("additionalProperties").is_some_and(|said| self.is_same(said, wanted))
            });
            if !is_known {
                self.obstacle(Facet::MemberNames, "", "members by pattern, and others");
            }
            return;
        }
        for name in known.names().into_iter().filter(|name| larger.property(name).is_none()) {
            let AdmittedMember::Of(member) = known.member(name) else { continue };
            self.at(PlaceStep::Member(name.to_owned()), |proof| {
                if *wanted.value == Value::Bool(false) {
                    if !member.types.is_empty() {
                        proof.obstacle(Facet::Additional, Obstacle::TAKEN, "not taken");
                    }
                } else {
                    proof.prove(&member, wanted);
                }
            });
        }
        match known.others() {
            Others::None if !known.has_patterns() => {}
            Others::Of(schemas) if !known.has_patterns() && *wanted.value != Value::Bool(false) => {
                let member = Known::new(schemas, false);
                self.at(PlaceStep::OtherMembers, |proof| proof.prove(&member, wanted));
            }
            Others::None | Others::Of(_) => self.obstacle(Facet::Additional, "members without a name", "none"),
        }
    }

    fn member_names(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        let Some(wanted) = larger.below("propertyNames") else { return };
        let said = known.parts.iter().filter_map(|part| part.below("propertyNames"));
        if said.collect::<Vec<_>>().into_iter().any(|said| self.is_same(said, wanted)) {
            return;
        }
        let is_closed = matches!(known.others(), Others::None) && !known.has_patterns();
        let fits = |name: &&str| accepts(wanted, &Value::String((*name).to_owned()), false, 0) == Some(true);
        if is_closed && known.names().iter().all(fits) {
            return;
        }
        let names = known.parts.iter().filter_map(|part| part.below("propertyNames"));
        if !self.shows(&Known::new(names, false), wanted) {
            self.differs(Facet::MemberNames, known.said("propertyNames").next(), wanted.value);
        }
    }

    fn dependencies(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        let needed = larger.get("dependentRequired").and_then(Value::as_object).into_iter().flatten();
        for (trigger, names) in needed {
            if matches!(known.member(trigger), AdmittedMember::Absent) {
                continue;
            }
            let told = |name: &Value| {
                let by_part = |said: &Value| {
                    said.get(trigger).and_then(Value::as_array).is_some_and(|names| names.contains(name))
                };
                known.said("dependentRequired").any(by_part)
            };
            let names = names.as_array().into_iter().flatten();
            let missing = |name: &Value| !name.as_str().is_some_and(|text| known.requires(text)) && !told(name);
            for name in names.filter(|name| missing(name)) {
                self.obstacle(Facet::Dependency, "", &format!("{name} where there is \"{trigger}\""));
            }
        }
        for (trigger, wanted) in larger.named("dependentSchemas") {
            let is_known = known.parts.iter().any(|part| {
                let mut said = part.named("dependentSchemas").filter(|(known, _)| *known == trigger);
                said.any(|(_, schema)| self.is_same(schema, wanted))
            });
            if is_known || matches!(known.member(trigger), AdmittedMember::Absent) || self.shows(known, wanted) {
                continue;
            }
            self.obstacle(Facet::Dependency, "", &format!("more where there is \"{trigger}\""));
        }
    }

    fn unevaluated_members(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        let Some(wanted) = larger.get("unevaluatedProperties").filter(|wanted| constrains(wanted)) else { return };
        if self.tolerant && *wanted == Value::Bool(false) {
            return;
        }
        if *wanted == Value::Bool(false) {
            let named: BTreeSet<&str> =
                larger.conjuncts().iter().flat_map(|part| part.named("properties").map(|(name, _)| name)).collect();
            let is_named = |name: &&str| named.contains(*name) || matches!(known.member(name), AdmittedMember::Absent);
            if known.names().iter().all(is_named) {
                match known.others() {
                    Others::None if !known.has_patterns() => return,
                    Others::None | Others::Of(_) => {
                        return self.obstacle(Facet::Additional, "members without a name", "none");
                    }
                }
            }
        }
        self.obstacle(Facet::Unevaluated, "", "unevaluatedProperties");
    }
}
