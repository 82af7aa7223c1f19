//! What is wrong with a value, rule by rule.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::union::OpenUnion;
use super::{MAX_DEPTH, SchemaWalk};
use crate::instance_path::PathStep;
use crate::tree::{Further, ItemRules, MemberRules, NodeId, SchemaRule};
use crate::violation::{Options, Violation, ViolationCause};

/// The way to the value at hand.
pub(super) type InstancePath<'a> = Vec<PathStep<'a>>;

impl<'a> SchemaWalk<'a> {
    /// Adds the problems that `node` has with `value`. A reference is not followed but noted, see
    /// [`ViolationCause::Behind`], unless it belongs to a branch that is being judged.
    pub(super) fn collect(
        &mut self,
        node: NodeId,
        value: &'a Value,
        at: &mut InstancePath<'a>,
        opened: Option<OpenUnion>,
        found: &mut Vec<Violation<'a>>,
    ) {
        if self.depth == MAX_DEPTH {
            self.budget.end();
            return;
        }
        self.depth += 1;
        let tree = self.tree;
        for rule in tree.rules(node) {
            if found.len() > self.max || !self.budget.spend(1) {
                break;
            }
            self.collect_rule(rule, node, value, at, opened, found);
        }
        self.depth -= 1;
    }

    fn collect_rule(
        &mut self,
        rule: &'a SchemaRule,
        node: NodeId,
        value: &'a Value,
        at: &mut InstancePath<'a>,
        opened: Option<OpenUnion>,
        found: &mut Vec<Violation<'a>>,
    ) {
        let words = |expected: &'a str| ViolationCause::Rule { expected: Cow::Borrowed(expected) };
        match rule {
            SchemaRule::AllOf(nodes) => {
                for node in nodes {
                    self.collect(*node, value, at, opened, found);
                }
            }
            SchemaRule::AnyOf(nodes) => {
                if self.fitting(nodes, value, 1) == 0 {
                    self.union("anyOf", nodes, value, at, opened, found);
                }
            }
            SchemaRule::OneOf(nodes) => match self.fitting(nodes, value, 2) {
                0 => self.union("oneOf", nodes, value, at, opened, found),
                1 => {}
                _ => self.tell(found, at, "oneOf", words("a value that fits only one of the alternatives")),
            },
            SchemaRule::If(condition) => {
                let holds = self.fits(condition.asks, value);
                let then = if holds { condition.then } else { condition.otherwise };
                if let Some(then) = then {
                    self.collect(then, value, at, opened, found);
                }
            }
            SchemaRule::Reference(target) if self.fits(*target, value) => {}
            SchemaRule::Reference(target) => match opened.and_then(|opened| opened.deeper(at.len())) {
                Some(deeper) => self.collect(*target, value, at, Some(deeper), found),
                None => self.tell(found, at, "$ref", ViolationCause::Behind { target: *target, value }),
            },
            // What is not looked at is not claimed.
            SchemaRule::Unfollowed => {}
            SchemaRule::DependentSchemas(dependents) => {
                for (name, node) in dependents {
                    if self.budget.spend(1) && value.get(&**name).is_some() {
                        self.collect(*node, value, at, opened, found);
                    }
                }
            }
            SchemaRule::Members(members) => {
                if let Value::Object(object) = value {
                    self.collect_members(members, node, object, at, opened, found);
                }
            }
            SchemaRule::Items(items) => {
                if let Value::Array(list) = value {
                    self.collect_items(items, list, at, opened, found);
                }
            }
            SchemaRule::Required(names) => {
                if let Value::Object(object) = value {
                    self.tell_missing(names, node, object, at, found);
                }
            }
            SchemaRule::DependentRequired(dependents) => {
                let Value::Object(object) = value else { return };
                for (name, names) in dependents {
                    if self.budget.spend(1) && object.contains_key(&**name) {
                        self.tell_missing(names, node, object, at, found);
                    }
                }
            }
            SchemaRule::UnevaluatedProperties(further) => {
                let Value::Object(object) = value else { return };
                let seen = self.evaluated(node, value);
                let is_never = self.tree.is_never(*further);
                for (_, (name, member)) in object.iter().enumerate().filter(|(index, _)| !seen.has(*index)) {
                    if found.len() > self.max || !self.budget.spend(1) {
                        break;
                    }
                    if is_never {
                        self.tell(found, at, "unevaluatedProperties", ViolationCause::Unknown { name, object: node });
                    } else {
                        self.below(PathStep::Name(name), *further, member, at, opened, found);
                    }
                }
            }
            SchemaRule::UnevaluatedItems(further) => {
                let Value::Array(list) = value else { return };
                let seen = self.evaluated(node, value);
                let is_never = self.tree.is_never(*further);
                for (index, item) in list.iter().enumerate().filter(|(index, _)| !seen.has(*index)) {
                    if found.len() > self.max || !self.budget.spend(1) {
                        break;
                    }
                    if is_never {
                        self.tell(found, at, "unevaluatedItems", words("no further items"));
                        break;
                    }
                    self.below(PathStep::Index(index), *further, item, at, opened, found);
                }
            }
            SchemaRule::Types(types) => {
                if !types.admit(value) {
                    self.tell(found, at, "type", ViolationCause::Type { names: types.sorted() });
                }
            }
            SchemaRule::Choice(choice) => {
                if !self.is_chosen(choice, value) {
                    let options = Options::Listed(&choice.options);
                    self.tell(found, at, choice.keyword, ViolationCause::Choice { options });
                }
            }
            SchemaRule::Never => self.tell(found, at, "falseSchema", words("no value here")),
            SchemaRule::Number(limit) => {
                if !self.keeps_alone(rule, value) {
                    self.tell(found, at, limit.keyword, words(&limit.expected));
                }
            }
            SchemaRule::Size(limit) => {
                if !self.keeps_alone(rule, value) {
                    self.tell(found, at, limit.keyword, words(&limit.expected));
                }
            }
            SchemaRule::Judged(limit) => {
                if !self.keeps_alone(rule, value) {
                    self.tell(found, at, limit.keyword, words(&limit.expected));
                }
            }
            SchemaRule::PropertyNames(_) => {
                if !self.keeps(rule, node, value) {
                    self.tell(found, at, "propertyNames", words("field names that the schema allows"));
                }
            }
            SchemaRule::Contains(_) => {
                if !self.keeps(rule, node, value) {
                    self.tell(found, at, "contains", words("an item of the kind that the schema asks for"));
                }
            }
            SchemaRule::Not(_) => {
                if !self.keeps(rule, node, value) {
                    self.tell(found, at, "not", words("a value that the schema does not exclude"));
                }
            }
        }
    }

    /// Notes a problem, unless the budget ended on the way to it.
    pub(super) fn tell(
        &self,
        found: &mut Vec<Violation<'a>>,
        at: &InstancePath<'a>,
        rule: &'static str,
        cause: ViolationCause<'a>,
    ) {
        if !self.budget.is_spent() && found.len() <= self.max {
            found.push(Violation { at: at.clone(), rule, cause });
        }
    }

    fn tell_missing(
        &self,
        names: &'a [Box<str>],
        node: NodeId,
        object: &Map<String, Value>,
        at: &InstancePath<'a>,
        found: &mut Vec<Violation<'a>>,
    ) {
        for name in self.missing(names, object) {
            if found.len() > self.max {
                break;
            }
            self.tell(found, at, "required", ViolationCause::Missing { name, object: node });
        }
    }

    /// Adds the problems of a part of the value at hand.
    fn below(
        &mut self,
        step: PathStep<'a>,
        node: NodeId,
        value: &'a Value,
        at: &mut InstancePath<'a>,
        opened: Option<OpenUnion>,
        found: &mut Vec<Violation<'a>>,
    ) {
        at.push(step);
        self.collect(node, value, at, opened, found);
        at.pop();
    }

    fn collect_members(
        &mut self,
        members: &'a MemberRules,
        node: NodeId,
        object: &'a Map<String, Value>,
        at: &mut InstancePath<'a>,
        opened: Option<OpenUnion>,
        found: &mut Vec<Violation<'a>>,
    ) {
        let known = members.all_known();
        // Both are sorted by name, so that the order is the same either way.
        if known.len() < object.len() {
            for (name, node) in known {
                if found.len() > self.max || !self.budget.spend(1) {
                    return;
                }
                if let Some(member) = object.get(&**name) {
                    self.below(PathStep::Name(name), *node, member, at, opened, found);
                }
            }
        } else {
            for (name, member) in object {
                if found.len() > self.max || !self.budget.spend(1) {
                    return;
                }
                if let Some(node) = members.known(name) {
                    self.below(PathStep::Name(name), node, member, at, opened, found);
                }
            }
        }
        if members.patterns.is_empty() && matches!(members.further, Further::Free) {
            return;
        }
        for (name, member) in object {
            if found.len() > self.max || self.budget.is_spent() {
                return;
            }
            let (nodes, is_known) = self.patterned(members, name);
            for node in nodes {
                self.below(PathStep::Name(name), node, member, at, opened, found);
            }
            match members.further {
                Further::None if !is_known => {
                    self.tell(found, at, "additionalProperties", ViolationCause::Unknown { name, object: node });
                }
                Further::Schema(node) if !is_known => {
                    self.below(PathStep::Name(name), node, member, at, opened, found);
                }
                Further::Free | Further::None | Further::Schema(_) => {}
            }
        }
    }

    fn collect_items(
        &mut self,
        items: &ItemRules,
        list: &'a [Value],
        at: &mut InstancePath<'a>,
        opened: Option<OpenUnion>,
        found: &mut Vec<Violation<'a>>,
    ) {
        for (index, item) in list.iter().enumerate() {
            let Some(node) = items.prefix.get(index).copied().or(items.rest) else { return };
            if found.len() > self.max || !self.budget.spend(1) {
                return;
            }
            self.below(PathStep::Index(index), node, item, at, opened, found);
        }
    }
}
