//! Which members or items of a value the other rules of a schema have looked at, for
//! `unevaluatedProperties` and `unevaluatedItems`.

use serde_json::Value;

use super::{MAX_DEPTH, SchemaWalk};
use crate::tree::{NodeId, SchemaRule};

/// The members or items that were looked at, by their place in the value.
pub(super) struct Evaluated {
    all: bool,
    seen: Vec<bool>,
}

impl Evaluated {
    pub(super) fn has(&self, index: usize) -> bool {
        self.all || self.seen.get(index).copied().unwrap_or(false)
    }

    fn mark(&mut self, index: usize) {
        if let Some(seen) = self.seen.get_mut(index) {
            *seen = true;
        }
    }
}

impl<'a> SchemaWalk<'a> {
    /// What `node` looks at in `value`, its own `unevaluated…` aside.
    pub(super) fn evaluated(&mut self, node: NodeId, value: &Value) -> Evaluated {
        let count = match value {
            Value::Array(list) => list.len(),
            Value::Object(object) => object.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        };
        // One who cannot pay for the looking takes everything for looked at.
        let all = !self.budget.spend(1 + u64::try_from(count / 8).unwrap_or(u64::MAX));
        let mut evaluated = Evaluated { all, seen: vec![false; if all { 0 } else { count }] };
        let tree = self.tree;
        for rule in tree.rules(node) {
            if !matches!(rule, SchemaRule::UnevaluatedProperties(_) | SchemaRule::UnevaluatedItems(_)) {
                self.evaluated_by(rule, value, &mut evaluated);
            }
        }
        evaluated
    }

    fn evaluated_within(&mut self, node: NodeId, value: &Value, evaluated: &mut Evaluated) {
        if self.depth == MAX_DEPTH {
            self.budget.end();
        }
        if evaluated.all || !self.budget.spend(1) {
            return;
        }
        self.depth += 1;
        let tree = self.tree;
        for rule in tree.rules(node) {
            self.evaluated_by(rule, value, evaluated);
        }
        self.depth -= 1;
    }

    fn evaluated_by(&mut self, rule: &'a SchemaRule, value: &Value, evaluated: &mut Evaluated) {
        if evaluated.all || self.budget.is_spent() {
            evaluated.all = true;
            return;
        }
        match (rule, value) {
            (SchemaRule::Members(members), Value::Object(object)) => {
                if members.looks_at_all {
                    evaluated.all = true;
                    return;
                }
                for (index, name) in object.keys().enumerate() {
                    if self.patterned(members, name).1 {
                        evaluated.mark(index);
                    }
                }
            }
            (SchemaRule::Items(items), Value::Array(_)) => {
                evaluated.all |= items.rest.is_some();
                for index in 0..items.prefix.len() {
                    evaluated.mark(index);
                }
            }
            (SchemaRule::Contains(contains), Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    if self.fits(contains.item, item) {
                        evaluated.mark(index);
                    }
                }
            }
            (SchemaRule::UnevaluatedProperties(_), Value::Object(_))
            | (SchemaRule::UnevaluatedItems(_), Value::Array(_)) => {
                evaluated.all = true;
            }
            (SchemaRule::AllOf(nodes), _) => {
                for node in nodes {
                    self.evaluated_within(*node, value, evaluated);
                }
            }
            (SchemaRule::AnyOf(nodes) | SchemaRule::OneOf(nodes), _) => {
                let fitting: Vec<NodeId> = nodes.iter().copied().filter(|node| self.fits(*node, value)).collect();
                // Where none fits, that is the problem, and not the members that any of them knows.
                let nodes = if fitting.is_empty() { nodes } else { &fitting };
                for node in nodes {
                    self.evaluated_within(*node, value, evaluated);
                }
            }
            (SchemaRule::If(condition), _) => {
                let holds = self.fits(condition.asks, value);
                if holds {
                    self.evaluated_within(condition.asks, value, evaluated);
                }
                if let Some(then) = if holds { condition.then } else { condition.otherwise } {
                    self.evaluated_within(then, value, evaluated);
                }
            }
            (SchemaRule::DependentSchemas(dependents), Value::Object(object)) => {
                for (name, node) in dependents {
                    if self.budget.spend(1) && object.contains_key(&**name) {
                        self.evaluated_within(*node, value, evaluated);
                    }
                }
            }
            (SchemaRule::Reference(target), _) => self.evaluated_within(*target, value, evaluated),
            (SchemaRule::Unfollowed, _) => {
                self.budget.end();
                evaluated.all = true;
            }
            _ => {}
        }
    }
}
