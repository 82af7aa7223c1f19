//! Finding out by trial what a type checks by itself.
//!
//! A schema does not tell which of its rules the Rust type keeps anyway: `maximum: 255` may come from
//! a `u8` or from an attribute on a `u32`, and a `deserialize_with` may accept far more than the
//! schema of its field. So the type is asked. It is decoded from a sample made of the schema, and
//! what it asks for at each place (a `u8`, a string, one of these variants) is noted. Then it is
//! challenged: a required field is left out, an unknown field or variant is put in, and it must
//! refuse. What the type does not prove this way is checked at every call.

use std::cell::{Cell, RefCell};

use serde::de::DeserializeOwned;

use super::node::{Fields, Kind, Node};

mod asked;
mod sample;

use asked::Probe;

/// For each node, by id, whether `T` keeps the node's own rules. `None` when `T` accepts, or may
/// accept, what the schema refuses in a way that cannot be checked along the way.
pub(super) fn prove<T: DeserializeOwned>(root: &Node) -> Option<Vec<bool>> {
    let facts = {
        let trial = Trial::new(Plan::Sample, root.count());
        let accepted = T::deserialize(Probe::new(root, &trial)).is_ok();
        if !accepted || trial.contradicted.get() {
            return None;
        }
        let facts: Option<Vec<bool>> = trial.facts.into_inner().into_iter().collect();
        facts?
    };
    let mut challenges = Vec::new();
    list_challenges(root, &facts, &mut challenges);
    let refuses = |plan: Plan| {
        let trial = Trial::new(plan, root.count());
        T::deserialize(Probe::new(root, &trial)).is_err()
    };
    challenges.into_iter().all(refuses).then_some(facts)
}

/// What is fed to the type in one trial; a number is a node's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// A sample that the schema admits.
    Sample,
    /// The sample, with a field that the object does not know.
    UnknownField(usize),
    /// The sample, without one of the object's fields.
    MissingField(usize, usize),
    /// The sample, with a string that is no variant of the enum, and no single character.
    ForeignText(usize),
}

struct Trial {
    plan: Plan,
    facts: RefCell<Vec<Option<bool>>>,
    contradicted: Cell<bool>,
}

impl Trial {
    fn new(plan: Plan, nodes: usize) -> Self {
        Self { plan, facts: RefCell::new(vec![None; nodes]), contradicted: Cell::new(false) }
    }

    /// Notes whether the type keeps the rules of `node`. A place may be reached more than once, and
    /// is proved only if it is each time.
    fn note(&self, node: &Node, proved: bool) {
        if let Some(fact) = self.facts.borrow_mut().get_mut(node.id) {
            *fact = Some(fact.unwrap_or(true) && proved);
        }
    }
}

fn list_challenges(node: &Node, facts: &[bool], plans: &mut Vec<Plan>) {
    match &node.kind {
        Kind::Any | Kind::Null | Kind::Bool | Kind::Number(_) => {}
        Kind::Text(text) => {
            if !text.is_empty() && facts.get(node.id) == Some(&true) {
                plans.push(Plan::ForeignText(node.id));
            }
        }
        Kind::List(list) => list_challenges(&list.item, facts, plans),
        Kind::Map(value) => list_challenges(value, facts, plans),
        Kind::Tuple(items) => {
            for item in items {
                list_challenges(item, facts, plans);
            }
        }
        Kind::Fields(fields) => {
            challenge_fields(node.id, fields, plans);
            for field in &fields.known {
                list_challenges(&field.node, facts, plans);
            }
        }
    }
}

fn challenge_fields(id: usize, fields: &Fields, plans: &mut Vec<Plan>) {
    if !fields.open {
        plans.push(Plan::UnknownField(id));
    }
    for (index, field) in fields.known.iter().enumerate() {
        if field.required {
            plans.push(Plan::MissingField(id, index));
        }
    }
}
