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

use super::node::{DecodeFields, DecodeKind, DecodeNode};

mod probing;
mod sample;

use probing::Probe;

/// How many nodes all trials of one type may go through: about a thousand required fields.
const MAX_NODES: usize = 1 << 20;

/// For each node, by id, whether `T` keeps the node's own rules. `None` when `T` accepts, or may
/// accept, what the schema refuses in a way that cannot be checked along the way.
pub(super) fn prove<T: DeserializeOwned>(root: &DecodeNode) -> Option<Vec<bool>> {
    let facts = {
        let trial = ProbeTrial::new(ProbePlan::Sample, root.count());
        let accepted = T::deserialize(Probe::new(root, &trial)).is_ok();
        if !accepted || trial.contradicted.get() {
            return None;
        }
        let facts: Option<Vec<bool>> = trial.facts.into_inner().into_iter().collect();
        facts?
    };
    let mut challenges = Vec::new();
    list_challenges(root, &facts, &mut challenges);
    // Each of them is a whole sample. What is left unproved is checked at every call, in time that grows with the input.
    if challenges.len().saturating_mul(root.count()) > MAX_NODES {
        return None;
    }
    let refuses = |plan: ProbePlan| {
        let trial = ProbeTrial::new(plan, root.count());
        T::deserialize(Probe::new(root, &trial)).is_err()
    };
    challenges.into_iter().all(refuses).then_some(facts)
}

/// What is fed to the type in one trial; a number is a node's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbePlan {
    /// A sample that the schema admits.
    Sample,
    /// The sample, with a field that the object does not know.
    UnknownField(usize),
    /// The sample, without one of the object's fields.
    MissingField(usize, usize),
    /// The sample, with a string that is no variant of the enum, and no single character.
    ForeignText(usize),
}

struct ProbeTrial {
    plan: ProbePlan,
    facts: RefCell<Vec<Option<bool>>>,
    contradicted: Cell<bool>,
}

impl ProbeTrial {
    fn new(plan: ProbePlan, nodes: usize) -> Self {
        Self { plan, facts: RefCell::new(vec![None; nodes]), contradicted: Cell::new(false) }
    }

    /// Notes whether the type keeps the rules of `node`. A place may be reached more than once, and
    /// is proved only if it is each time.
    fn note(&self, node: &DecodeNode, proved: bool) {
        if let Some(fact) = self.facts.borrow_mut().get_mut(node.id) {
            *fact = Some(fact.unwrap_or(true) && proved);
        }
    }
}

fn list_challenges(node: &DecodeNode, facts: &[bool], plans: &mut Vec<ProbePlan>) {
    match &node.kind {
        DecodeKind::Any | DecodeKind::Null | DecodeKind::Bool | DecodeKind::Number(_) => {}
        DecodeKind::Text(text) => {
            if !text.is_empty() && facts.get(node.id) == Some(&true) {
                plans.push(ProbePlan::ForeignText(node.id));
            }
        }
        DecodeKind::List(list) => list_challenges(&list.item, facts, plans),
        DecodeKind::Map(value) => list_challenges(value, facts, plans),
        DecodeKind::Tuple(items) => {
            for item in items {
                list_challenges(item, facts, plans);
            }
        }
        DecodeKind::Fields(fields) => {
            challenge_fields(node.id, fields, plans);
            for field in &fields.known {
                list_challenges(&field.node, facts, plans);
            }
        }
    }
}

fn challenge_fields(id: usize, fields: &DecodeFields, plans: &mut Vec<ProbePlan>) {
    if !fields.open {
        plans.push(ProbePlan::UnknownField(id));
    }
    for (index, field) in fields.known.iter().enumerate() {
        if field.required {
            plans.push(ProbePlan::MissingField(id, index));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::LazyLock};

    use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
    use serde_json::{Value, json};

    use super::*;

    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| (0..4096).map(|n| &*format!("f{n}").leak()).collect());

    thread_local! {
        static TRIALS: Cell<usize> = const { Cell::new(0) };
    }

    /// An object with so many fields, all of them required.
    struct Wide<const FIELDS: usize>;

    impl<'de, const FIELDS: usize> Deserialize<'de> for Wide<FIELDS> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            TRIALS.set(TRIALS.get() + 1);
            deserializer.deserialize_struct("Wide", &NAMES[..FIELDS], Wide)
        }
    }

    impl<'de, const FIELDS: usize> Visitor<'de> for Wide<FIELDS> {
        type Value = Wide<FIELDS>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
            let mut found = 0;
            while let Some(name) = map.next_key::<String>()? {
                map.next_value::<u64>()?;
                found += usize::from(NAMES[..FIELDS].contains(&&*name));
            }
            if found == FIELDS { Ok(self) } else { Err(serde::de::Error::custom("not these fields")) }
        }
    }

    /// Whether it is proved, and in how many trials.
    fn proved<const FIELDS: usize>() -> (bool, usize) {
        let names = &NAMES[..FIELDS];
        let properties: BTreeMap<_, Value> =
            names.iter().map(|name| (*name, json!({"type": "integer", "minimum": 0}))).collect();
        let schema =
            json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false});
        let node = DecodeNode::read(&schema).unwrap().unwrap();
        TRIALS.set(0);
        (prove::<Wide<FIELDS>>(&node).is_some(), TRIALS.get())
    }

    #[test]
    fn the_work_of_a_proof_has_a_bound_however_many_fields_a_type_has() {
        assert_eq!(proved::<16>(), (true, 18), "the sample, an unknown field, and each field left out");
        assert_eq!(proved::<512>(), (true, 514));
        assert_eq!(proved::<4096>(), (false, 1), "what takes too long to prove is checked at every call");
    }
}
