//! A schema and a document, walked together.
//!
//! The validator says *whether* a document is refused; this finds out *why*. It does not ask the validator
//! for its list of errors: that holds every error of every branch of every union, at every level of a
//! schema that refers to itself. Here each step is paid for out of a [`StepBudget`], a verdict is remembered
//! where a reference leads, and of a union no more is kept than tells its branches apart.
//!
//! Once the budget has ended, every question is answered with "fits" and nothing more is told: what was
//! found by then is true, and what was not looked at is not claimed.
//!
//! Why so: docs/decisions/0040-an-explanation-has-a-budget.md.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use super::bounds::Figure;
use super::budget::StepBudget;
use super::instance_path::PathStep;
use super::tree::{Choice, Contains, Further, MemberRules, NodeId, SchemaRule, SizeBound, Tree};
use super::violation::{Violation, ViolationCause};

mod collect;
mod evaluated;
mod union;

/// How deep schema and document may nest, counted together: a schema may hold schemas against one value
/// without end, and this recurses.
const MAX_DEPTH: usize = 640;
/// How many verdicts are remembered.
const REMEMBERED: usize = 1 << 16;

/// One walk over one document.
pub(super) struct SchemaWalk<'a> {
    tree: &'a Tree,
    budget: &'a StepBudget<'a>,
    /// Verdicts by node and address of the value; `true` also while one is being reached.
    verdicts: HashMap<(NodeId, usize), bool>,
    depth: usize,
    /// Whether the value at hand is a name made into a value, whose address means nothing.
    at_a_name: bool,
    /// How many problems are enough.
    max: usize,
}

/// The problems of `document`, those of the outermost level first, and at most one more than `max`.
pub(super) fn problems<'a>(
    tree: &'a Tree,
    document: &'a Value,
    budget: &'a StepBudget<'a>,
    max: usize,
) -> Vec<Violation<'a>> {
    let mut walk = SchemaWalk { tree, budget, verdicts: HashMap::new(), depth: 0, at_a_name: false, max };
    let mut found: Vec<Violation<'a>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut next = VecDeque::from([(Tree::ROOT, document, Vec::<PathStep<'a>>::new())]);
    while let Some((node, value, mut at)) = next.pop_front() {
        if found.len() > max || budget.is_spent() {
            break;
        }
        if !seen.insert((node, address(value))) {
            continue;
        }
        let mut level = Vec::new();
        walk.collect(node, value, &mut at, None, &mut level);
        for problem in level {
            if let ViolationCause::Behind { target, value } = problem.cause {
                next.push_back((target, value, problem.at));
            } else if found.len() <= max && !found.contains(&problem) {
                found.push(problem);
            }
        }
    }
    found
}

/// Whether the walk finds nothing wrong with `document`; `None` if the budget ended before that was known.
#[cfg(test)]
pub(super) fn verdict(tree: &Tree, document: &Value, budget: &StepBudget<'_>) -> Option<bool> {
    let mut walk = SchemaWalk { tree, budget, verdicts: HashMap::new(), depth: 0, at_a_name: false, max: 0 };
    let fits = walk.fits(Tree::ROOT, document);
    (!budget.is_spent()).then_some(fits)
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'a> SchemaWalk<'a> {
    /// Whether `value` keeps every rule of `node`.
    fn fits(&mut self, node: NodeId, value: &Value) -> bool {
        if self.depth == MAX_DEPTH {
            self.budget.end();
        }
        if !self.budget.spend(1) {
            return true;
        }
        let key = (node, address(value));
        let remembers = !self.at_a_name && self.tree.is_target(node) && self.verdicts.len() < REMEMBERED;
        if remembers && let Some(known) = self.verdicts.insert(key, true) {
            self.verdicts.insert(key, known);
            return known;
        }
        self.depth += 1;
        let tree = self.tree;
        let fits =
            !self.has_another_tag(node, value) && tree.rules(node).iter().all(|rule| self.keeps(rule, node, value));
        self.depth -= 1;
        if remembers {
            self.verdicts.insert(key, fits);
        }
        fits
    }

    /// Whether a member that tells the branches of a union apart belongs to another branch than `node`.
    fn has_another_tag(&mut self, node: NodeId, value: &Value) -> bool {
        let tree = self.tree;
        let Value::Object(object) = value else { return false };
        let is_other =
            |(name, tag): &(Box<str>, NodeId)| object.get(&**name).is_some_and(|member| !self.fits(*tag, member));
        tree.tags(node).iter().any(is_other)
    }

    /// Whether `value` keeps one rule of `node`.
    fn keeps(&mut self, rule: &'a SchemaRule, node: NodeId, value: &Value) -> bool {
        if !self.budget.spend(1) {
            return true;
        }
        match rule {
            SchemaRule::AllOf(nodes) => nodes.iter().all(|node| self.fits(*node, value)),
            SchemaRule::AnyOf(nodes) => nodes.iter().any(|node| self.fits(*node, value)),
            SchemaRule::OneOf(nodes) => self.fitting(nodes, value, 2) == 1,
            SchemaRule::Not(node) => !self.fits(*node, value) || self.budget.is_spent(),
            SchemaRule::If(condition) => {
                let holds = self.fits(condition.asks, value);
                let then = if holds { condition.then } else { condition.otherwise };
                then.is_none_or(|then| self.fits(then, value))
            }
            SchemaRule::Reference(target) => self.fits(*target, value),
            SchemaRule::Unfollowed => {
                self.budget.end();
                true
            }
            SchemaRule::DependentSchemas(dependents) => dependents
                .iter()
                .all(|(name, node)| !self.budget.spend(1) || value.get(&**name).is_none() || self.fits(*node, value)),
            SchemaRule::Members(members) => value.as_object().is_none_or(|object| self.members_fit(members, object)),
            SchemaRule::PropertyNames(names) => {
                value.as_object().is_none_or(|object| object.keys().all(|name| self.name_fits(*names, name)))
            }
            SchemaRule::Items(items) => value.as_array().is_none_or(|list| {
                list.iter().enumerate().all(|(index, item)| {
                    items.prefix.get(index).copied().or(items.rest).is_none_or(|node| self.fits(node, item))
                })
            }),
            SchemaRule::Contains(contains) => value.as_array().is_none_or(|list| self.contains(contains, list)),
            SchemaRule::UnevaluatedProperties(further) => value.as_object().is_none_or(|object| {
                let seen = self.evaluated(node, value);
                let left = object.values().enumerate().filter(|(index, _)| !seen.has(*index));
                left.fold(true, |fit, (_, member)| fit && self.fits(*further, member))
            }),
            SchemaRule::UnevaluatedItems(further) => value.as_array().is_none_or(|list| {
                let seen = self.evaluated(node, value);
                let left = list.iter().enumerate().filter(|(index, _)| !seen.has(*index));
                left.fold(true, |fit, (_, item)| fit && self.fits(*further, item))
            }),
            SchemaRule::Never
            | SchemaRule::Types(_)
            | SchemaRule::Choice(_)
            | SchemaRule::Number(_)
            | SchemaRule::Size(_)
            | SchemaRule::Required(_)
            | SchemaRule::DependentRequired(_)
            | SchemaRule::Judged(_) => self.keeps_alone(rule, value),
        }
    }

    /// Whether `value` keeps a rule that holds no other schema.
    fn keeps_alone(&self, rule: &SchemaRule, value: &Value) -> bool {
        match rule {
            SchemaRule::Never => false,
            SchemaRule::Types(types) => types.admit(value),
            SchemaRule::Choice(choice) => self.is_chosen(choice, value),
            SchemaRule::Number(bounds) => Figure::of(value).is_none_or(|figure| bounds.limit.admit(figure)),
            SchemaRule::Size(size) => self.has_size(size.limit, value),
            SchemaRule::Required(names) => {
                value.as_object().is_none_or(|object| self.missing(names, object).next().is_none())
            }
            SchemaRule::DependentRequired(dependents) => value.as_object().is_none_or(|object| {
                dependents.iter().all(|(name, names)| {
                    !self.budget.spend(1)
                        || !object.contains_key(&**name)
                        || self.missing(names, object).next().is_none()
                })
            }),
            SchemaRule::Judged(judge) => {
                !judge.limit.is_about(value) || !self.budget.spend(extent(value)) || judge.limit.admit(value)
            }
            SchemaRule::AllOf(_)
            | SchemaRule::AnyOf(_)
            | SchemaRule::OneOf(_)
            | SchemaRule::Not(_)
            | SchemaRule::If(_)
            | SchemaRule::Reference(_)
            | SchemaRule::Unfollowed
            | SchemaRule::DependentSchemas(_)
            | SchemaRule::Members(_)
            | SchemaRule::PropertyNames(_)
            | SchemaRule::Items(_)
            | SchemaRule::Contains(_)
            | SchemaRule::UnevaluatedProperties(_)
            | SchemaRule::UnevaluatedItems(_) => true,
        }
    }

    /// How many of `nodes` the value fits, counted up to `enough`.
    fn fitting(&mut self, nodes: &[NodeId], value: &Value, enough: usize) -> usize {
        let fitting = nodes.iter().filter(|node| self.fits(**node, value)).take(enough).count();
        // A count that was cut short says nothing.
        if self.budget.is_spent() { 1 } else { fitting }
    }

    fn members_fit(&mut self, members: &'a MemberRules, object: &Map<String, Value>) -> bool {
        let known = members.all_known();
        let known_fit = if known.len() < object.len() {
            known.iter().all(|(name, node)| {
                self.budget.spend(1) && object.get(&**name).is_none_or(|member| self.fits(*node, member))
            })
        } else {
            object.iter().all(|(name, member)| {
                self.budget.spend(1) && members.known(name).is_none_or(|node| self.fits(node, member))
            })
        };
        if !known_fit {
            return self.budget.is_spent();
        }
        if members.patterns.is_empty() && matches!(members.further, Further::Free) {
            return true;
        }
        object.iter().all(|(name, member)| {
            let (nodes, is_known) = self.patterned(members, name);
            if !nodes.into_iter().all(|node| self.fits(node, member)) {
                return false;
            }
            match members.further {
                Further::Free => true,
                Further::None => is_known || self.budget.is_spent(),
                Further::Schema(node) => is_known || self.fits(node, member),
            }
        })
    }

    /// The schemas that `name` has by pattern, and whether it is known by pattern or by name.
    fn patterned(&self, members: &'a MemberRules, name: &str) -> (Vec<NodeId>, bool) {
        let is_known = !self.budget.spend(1) || members.known(name).is_some();
        if members.patterns.is_empty() {
            return (Vec::new(), is_known);
        }
        let text = Value::String(name.to_owned());
        let matches = |(pattern, node): &(super::tree::LazyValidator, NodeId)| {
            (self.budget.spend(extent(&text)) && pattern.admit(&text)).then_some(*node)
        };
        let nodes: Vec<NodeId> = members.patterns.iter().filter_map(matches).collect();
        let is_known = is_known || !nodes.is_empty() || self.budget.is_spent();
        (nodes, is_known)
    }

    fn name_fits(&mut self, node: NodeId, name: &str) -> bool {
        if !self.budget.spend_text(name.len()) {
            return true;
        }
        let outer = std::mem::replace(&mut self.at_a_name, true);
        let fits = self.fits(node, &Value::String(name.to_owned()));
        self.at_a_name = outer;
        fits
    }

    fn contains(&mut self, contains: &Contains, list: &[Value]) -> bool {
        let mut count = 0;
        for item in list {
            count += u64::from(self.fits(contains.item, item));
            let over = contains.max.is_some_and(|max| count > max);
            if self.budget.is_spent() || over || (contains.max.is_none() && count >= contains.min) {
                break;
            }
        }
        self.budget.is_spent() || (count >= contains.min && contains.max.is_none_or(|max| count <= max))
    }

    /// The required names that `object` lacks.
    fn missing<'n>(&self, names: &'n [Box<str>], object: &Map<String, Value>) -> impl Iterator<Item = &'n str> {
        names.iter().map(|name| &**name).filter(|name| self.budget.spend(1) && !object.contains_key(*name))
    }

    fn is_chosen(&self, choice: &Choice, value: &Value) -> bool {
        if let Value::String(text) = value
            && !choice.texts.is_empty()
        {
            return choice.texts.contains(text.as_str());
        }
        choice.options.iter().any(|option| !self.budget.spend(1) || self.equal(option, value))
    }

    /// Whether two values are the same to a schema, where `1` is `1.0`.
    fn equal(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(_), Value::Number(_)) => Figure::of(a)
                .zip(Figure::of(b))
                .is_some_and(|(a, b)| a.compare(b).is_some_and(std::cmp::Ordering::is_eq)),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| !self.budget.spend(1) || self.equal(a, b))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(name, a)| !self.budget.spend(1) || b.get(name).is_some_and(|b| self.equal(a, b)))
            }
            _ => a == b,
        }
    }

    fn has_size(&self, size: SizeBound, value: &Value) -> bool {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let characters = |text: &String| {
            self.budget.spend_text(text.len());
            count(text.chars().count())
        };
        match (size, value) {
            (SizeBound::MinLength(min), Value::String(text)) => characters(text) >= min,
            (SizeBound::MaxLength(max), Value::String(text)) => characters(text) <= max,
            (SizeBound::MinItems(min), Value::Array(list)) => count(list.len()) >= min,
            (SizeBound::MaxItems(max), Value::Array(list)) => count(list.len()) <= max,
            (SizeBound::MinProperties(min), Value::Object(object)) => count(object.len()) >= min,
            (SizeBound::MaxProperties(max), Value::Object(object)) => count(object.len()) <= max,
            _ => true,
        }
    }
}

/// What it takes to look at all of a value.
fn extent(value: &Value) -> u64 {
    let text = |text: &str| 1 + u64::try_from(text.len() / 64).unwrap_or(u64::MAX);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(value) => text(value),
        Value::Array(list) => 1 + list.iter().map(extent).sum::<u64>(),
        Value::Object(object) => 1 + object.iter().map(|(name, member)| text(name) + extent(member)).sum::<u64>(),
    }
}
