//! A value that shows that one schema admits what another does not.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::{
    facet::{Facet, Obstacle, PlaceStep, pointer},
    reading::{is_written_down, tolerant},
    sample::{Sampler, ValuePool},
    schema_at::{SchemaAt, SchemaDocument},
};

/// How much memory a pattern may take; one that needs more is not compiled, and nothing is shown then.
const MAX_PATTERN: usize = 1 << 20;

/// What two schemas say of a value.
pub(crate) struct Judge<'s> {
    smaller: &'s SchemaDocument<'s>,
    admits: Validator,
    refuses: Validator,
    pool: ValuePool,
}

impl<'s> Judge<'s> {
    /// A judge of values that `smaller` admits and `larger` refuses. None where one of them does not compile.
    pub(crate) fn new(
        smaller: &'s SchemaDocument<'s>,
        larger: &'s SchemaDocument<'s>,
        is_tolerant: bool,
    ) -> Option<Judge<'s>> {
        let (one, other) = (smaller.standalone(), larger.standalone());
        let mut pool = ValuePool::default();
        pool.add(&one);
        pool.add(&other);
        let other = if is_tolerant { tolerant(&other) } else { other };
        Some(Judge { smaller, admits: compiled(&one)?, refuses: compiled(&other)?, pool })
    }

    /// Whether a value shows it: admitted by the one, refused by the other, and such as somebody would send.
    #[cfg(test)]
    pub(crate) fn shows(&self, value: &Value) -> bool {
        self.admits.is_valid(value)
            && !self.refuses.is_valid(value)
            && is_written_down(SchemaAt::root(self.smaller), value)
    }

    /// The shortest value that was found to show an obstacle.
    pub(crate) fn witness(&self, obstacle: &Obstacle) -> Option<Value> {
        let mut focus = obstacle.place.as_slice();
        // Where a member is missing or should not be there, it is the object that is varied.
        let is_of_member = obstacle.facet == Facet::Required
            || (obstacle.facet == Facet::Additional && obstacle.admitted == Obstacle::TAKEN);
        if is_of_member {
            focus = focus.split_last().map_or(focus, |(_, before)| before);
        }
        let candidates = Sampler::new(&self.pool, Some(focus)).values(SchemaAt::root(self.smaller));
        let found = candidates.into_iter().filter(|value| self.is_shown(obstacle, focus, value));
        found.min_by_key(|value| value.to_string().len())
    }

    fn is_shown(&self, obstacle: &Obstacle, at: &[PlaceStep], value: &Value) -> bool {
        if !self.admits.is_valid(value) {
            return false;
        }
        let is_sent = obstacle.facet == Facet::Additional || is_written_down(SchemaAt::root(self.smaller), value);
        let wanted = pointer(at);
        is_sent
            && self.refuses.iter_errors(value).any(|error| {
                let place = error.instance_path().to_string();
                // Members without a name, and items without a place, are refused where they are.
                let may_be_below = matches!(obstacle.facet, Facet::Additional | Facet::Items | Facet::Unevaluated);
                let is_there = matches(&wanted, &place) || (may_be_below && is_below(&wanted, &place));
                is_there && (obstacle.facet != Facet::Required || is_missing(obstacle, value, &place))
            })
    }
}

/// Whether the member that is now required is the one that is missing.
fn is_missing(obstacle: &Obstacle, value: &Value, place: &str) -> bool {
    let Some(PlaceStep::Member(name)) = obstacle.place.last() else { return true };
    value.pointer(place).is_some_and(|object| object.get(name).is_none())
}

/// Whether a pointer is of a place in which `*` stands for any step.
fn matches(wanted: &str, place: &str) -> bool {
    let (wanted, place): (Vec<&str>, Vec<&str>) = (wanted.split('/').collect(), place.split('/').collect());
    wanted.len() == place.len() && wanted.iter().zip(&place).all(|(wanted, step)| *wanted == "*" || wanted == step)
}

/// Whether a pointer is of a member right below a place.
fn is_below(wanted: &str, place: &str) -> bool {
    place.rsplit_once('/').is_some_and(|(above, _)| matches(wanted, above))
}

/// The schema as the validator takes it: draft 2020-12, formats checked.
pub(crate) fn compiled(schema: &Value) -> Option<Validator> {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN))
        .build(schema)
        .ok()
}
