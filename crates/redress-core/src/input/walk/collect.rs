//! What is wrong with a value, rule by rule.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::union::Opened;
use super::{DEEPEST, Walk};
use crate::input::place::Step;
use crate::input::problem::{Cause, Options, Problem};
use crate::input::tree::{Further, Items, Members, NodeId, Rule};

/// The way to the value at hand.
pub(super) type At<'a> = Vec<Step<'a>>;

impl<'a> Walk<'a> {
    /// Adds the problems that `node` has with `value`. A reference is not followed but noted, see
    /// [`Cause::Behind`], unless it belongs to a branch that is being judged.
    pub(super) fn collect(
        &mut self,
        node: NodeId,
        value: &'a Value,
        at: &mut At<'a>,
        opened: Option<Opened>,
        found: &mut Vec<Problem<'a>>,
    ) {
        if self.depth == DEEPEST {
            self.budget.end();
            return;
        }
        self.depth += 1;
        let tree = self.tree;
        for rule in tree.rules(node) {
            if found.len() > self.most || !self.budget.spend(1) {
                break;
            }
            self.collect_rule(rule, node, value, at, opened, found);
        }
        self.depth -= 1;
    }

    fn collect_rule(
        &mut self,
        rule: &'a Rule,
        node: NodeId,
        value: &'a Value,
        at: &mut At<'a>,
        opened: Option<Opened>,
        found: &mut Vec<Problem<'a>>,
    ) {
        let words = |expected: &'a str| Cause::Rule { expected: Cow::Borrowed(expected) };
        match rule {
            Rule::AllOf(nodes) => {
                for node in nodes {
                    self.collect(*node, value, at, opened, found);
                }
            }
            Rule::AnyOf(nodes) => {
                if self.fitting(nodes, value, 1) == 0 {
                    self.union("anyOf", nodes, value, at, opened, found);
                }
            }
            Rule::OneOf(nodes) => match self.fitting(nodes, value, 2) {
                0 => self.union("oneOf", nodes, value, at, opened, found),
                1 => {}
                _ => self.tell(found, at, "oneOf", words("a value that fits only one of the alternatives")),
            },
            Rule::If(condition) => {
                let holds = self.fits(condition.asks, value);
                let then = if holds { condition.then } else { condition.otherwise };
                if let Some(then) = then {
                    self.collect(then, value, at, opened, found);
                }
            }
            Rule::Reference(target) if self.fits(*target, value) => {}
            Rule::Reference(target) => match opened.and_then(|opened| opened.deeper(at.len())) {
                Some(deeper) => self.collect(*target, value, at, Some(deeper), found),
                None => self.tell(found, at, "$ref", Cause::Behind { target: *target, value }),
            },
            // What is not looked at is not claimed.
            Rule::Unfollowed => {}
            Rule::DependentSchemas(dependents) => {
                for (name, node) in dependents {
                    if self.budget.spend(1) && value.get(&**name).is_some() {
                        self.collect(*node, value, at, opened, found);
                    }
                }
            }
            Rule::Members(members) => {
                if let Value::Object(object) = value {
                    self.collect_members(members, node, object, at, opened, found);
                }
            }
            Rule::Items(items) => {
                if let Value::Array(list) = value {
                    self.collect_items(items, list, at, opened, found);
                }
            }
            Rule::Required(names) => {
                if let Value::Object(object) = value {
                    self.tell_missing(names, node, object, at, found);
                }
            }
            Rule::DependentRequired(dependents) => {
                let Value::Object(object) = value else { return };
                for (name, names) in dependents {
                    if self.budget.spend(1) && object.contains_key(&**name) {
                        self.tell_missing(names, node, object, at, found);
                    }
                }
            }
            Rule::UnevaluatedProperties(further) => {
                let Value::Object(object) = value else { return };
                let seen = self.evaluated(node, value);
                let is_never = self.tree.is_never(*further);
                for (_, (name, member)) in object.iter().enumerate().filter(|(index, _)| !seen.has(*index)) {
                    if found.len() > self.most || !self.budget.spend(1) {
                        break;
                    }
                    if is_never {
                        self.tell(found, at, "unevaluatedProperties", Cause::Unknown { name, object: node });
                    } else {
                        self.below(Step::Name(name), *further, member, at, opened, found);
                    }
                }
            }
            Rule::UnevaluatedItems(further) => {
                let Value::Array(list) = value else { return };
                let seen = self.evaluated(node, value);
                let is_never = self.tree.is_never(*further);
                for (index, item) in list.iter().enumerate().filter(|(index, _)| !seen.has(*index)) {
                    if found.len() > self.most || !self.budget.spend(1) {
                        break;
                    }
                    if is_never {
                        self.tell(found, at, "unevaluatedItems", words("no further items"));
                        break;
                    }
                    self.below(Step::Index(index), *further, item, at, opened, found);
                }
            }
            Rule::Types(types) => {
                if !types.admit(value) {
                    self.tell(found, at, "type", Cause::Type { names: types.sorted() });
                }
            }
            Rule::Choice(choice) => {
                if !self.is_chosen(choice, value) {
                    let options = Options::Listed(&choice.options);
                    self.tell(found, at, choice.keyword, Cause::Choice { options });
                }
            }
            Rule::Never => self.tell(found, at, "falseSchema", words("no value here")),
            Rule::Number(limit) => {
                if !self.keeps_alone(rule, value) {
                    self.tell(found, at, limit.keyword, words(&limit.expected));
                }
            }
            Rule::Size(limit) => {
                if !self.keeps_alone(rule, value) {
                    self.tell(found, at, limit.keyword, words(&limit.expected));
                }
            }
            Rule::Judged(limit) => {
                if !self.keeps_alone(rule, value) {
                    self.tell(found, at, limit.keyword, words(&limit.expected));
                }
            }
            Rule::PropertyNames(_) => {
                if !self.keeps(rule, node, value) {
                    self.tell(found, at, "propertyNames", words("field names that the schema allows"));
                }
            }
            Rule::Contains(_) => {
                if !self.keeps(rule, node, value) {
                    self.tell(found, at, "contains", words("an item of the kind that the schema asks for"));
                }
            }
            Rule::Not(_) => {
                if !self.keeps(rule, node, value) {
                    self.tell(found, at, "not", words("a value that the schema does not exclude"));
                }
            }
        }
    }

    /// Notes a problem, unless the budget ended on the way to it.
    pub(super) fn tell(&self, found: &mut Vec<Problem<'a>>, at: &At<'a>, rule: &'static str, cause: Cause<'a>) {
        if !self.budget.is_spent() && found.len() <= self.most {
            found.push(Problem { at: at.clone(), rule, cause });
        }
    }

    fn tell_missing(
        &self,
        names: &'a [Box<str>],
        node: NodeId,
        object: &Map<String, Value>,
        at: &At<'a>,
        found: &mut Vec<Problem<'a>>,
    ) {
        for name in self.missing(names, object) {
            if found.len() > self.most {
                break;
            }
            self.tell(found, at, "required", Cause::Missing { name, object: node });
        }
    }

    /// Adds the problems of a part of the value at hand.
    fn below(
        &mut self,
        step: Step<'a>,
        node: NodeId,
        value: &'a Value,
        at: &mut At<'a>,
        opened: Option<Opened>,
        found: &mut Vec<Problem<'a>>,
    ) {
        at.push(step);
        self.collect(node, value, at, opened, found);
        at.pop();
    }

    fn collect_members(
        &mut self,
        members: &'a Members,
        node: NodeId,
        object: &'a Map<String, Value>,
        at: &mut At<'a>,
        opened: Option<Opened>,
        found: &mut Vec<Problem<'a>>,
    ) {
        let known = members.all_known();
        // Both are sorted by name, so that the order is the same either way.
        if known.len() < object.len() {
            for (name, node) in known {
                if found.len() > self.most || !self.budget.spend(1) {
                    return;
                }
                if let Some(member) = object.get(&**name) {
                    self.below(Step::Name(name), *node, member, at, opened, found);
                }
            }
        } else {
            for (name, member) in object {
                if found.len() > self.most || !self.budget.spend(1) {
                    return;
                }
                if let Some(node) = members.known(name) {
                    self.below(Step::Name(name), node, member, at, opened, found);
                }
            }
        }
        if members.patterns.is_empty() && matches!(members.further, Further::Free) {
            return;
        }
        for (name, member) in object {
            if found.len() > self.most || self.budget.is_spent() {
                return;
            }
            let (nodes, is_known) = self.patterned(members, name);
            for node in nodes {
                self.below(Step::Name(name), node, member, at, opened, found);
            }
            match members.further {
                Further::None if !is_known => {
                    self.tell(found, at, "additionalProperties", Cause::Unknown { name, object: node });
                }
                Further::Schema(node) if !is_known => {
                    self.below(Step::Name(name), node, member, at, opened, found);
                }
                Further::Free | Further::None | Further::Schema(_) => {}
            }
        }
    }

    fn collect_items(
        &mut self,
        items: &Items,
        list: &'a [Value],
        at: &mut At<'a>,
        opened: Option<Opened>,
        found: &mut Vec<Problem<'a>>,
    ) {
        for (index, item) in list.iter().enumerate() {
            let Some(node) = items.prefix.get(index).copied().or(items.rest) else { return };
            if found.len() > self.most || !self.budget.spend(1) {
                return;
            }
            self.below(Step::Index(index), node, item, at, opened, found);
        }
    }
}
