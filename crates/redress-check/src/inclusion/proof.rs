//! Whether every value that one schema admits is admitted by another, shown keyword by keyword.
//!
//! For each keyword of the larger schema there has to be something in the smaller one that makes it hold. What is not found is
//! an obstacle. So no obstacle is a proof, and an obstacle is no proof of the opposite: that takes a value, which is searched
//! for afterwards.
//!
//! Members that a schema does not name, and does not forbid either, are taken not to be there: nobody sends what nobody has
//! written down. A reader of answers is taken to be tolerant: it skips members that it does not know, even where the schema of
//! its time says that there are no others.
//!
//! Why so: docs/decisions/0150-changes-are-proved-or-shown.md.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap, HashSet},
};

use serde_json::Value;

use super::{
    accepts::{accepts, same},
    facet::{Facet, Obstacle, PlaceStep},
    schema_at::{SchemaAt, references},
    value_types::ValueTypes,
};

/// How many schemas are compared in one proof.
const MAX_STEPS: usize = 3_000;
/// How deep they may nest.
const MAX_DEPTH: usize = 48;
/// How many alternatives are looked at one by one.
const MAX_CASES: usize = 32;
/// How many obstacles are told.
const MAX_OBSTACLES: usize = 200;

/// What is to be shown: the schemas that are known to admit a value, its types, and the one that should.
type Goal = (Vec<usize>, ValueTypes, usize);

/// A proof that is being tried.
#[derive(Default)]
pub(crate) struct Proof {
    /// Whether who reads the values skips members that it does not know.
    pub(super) tolerant: bool,
    obstacles: BTreeSet<Obstacle>,
    /// What is being proved already, further up: a recursive schema leads back to it with a smaller value.
    assumed: HashSet<Goal>,
    /// What could not be shown. What is assumed only ever helps, so it cannot be shown elsewhere either.
    failed: HashSet<Goal>,
    /// References of which it is known whether they mean the same in both documents.
    agreed: HashMap<String, bool>,
    place: Vec<PlaceStep>,
    steps: usize,
    depth: usize,
}

/// What is known of a value: every schema here admits it.
#[derive(Clone)]
pub(super) struct Known<'s> {
    pub(super) parts: Vec<SchemaAt<'s>>,
    /// Whether the parts are all that name its members.
    pub(super) names_members: bool,
    /// Alternatives of the parts of which one has been taken.
    taken: Vec<usize>,
    pub(super) types: ValueTypes,
    in_place: OnceCell<Vec<SchemaAt<'s>>>,
}

impl<'s> Known<'s> {
    pub(super) fn new(schemas: impl IntoIterator<Item = SchemaAt<'s>>, names_members: bool) -> Known<'s> {
        let mut known = Known {
            parts: Vec::new(),
            names_members,
            taken: Vec::new(),
            types: ValueTypes::ALL,
            in_place: OnceCell::new(),
        };
        schemas.into_iter().for_each(|schema| known.add(schema));
        known
    }

    pub(super) fn add(&mut self, schema: SchemaAt<'s>) {
        self.in_place = OnceCell::new();
        for part in schema.conjuncts() {
            if self.parts.iter().any(|known| known.address() == part.address()) {
                continue;
            }
            if *part.value == Value::Bool(false) {
                self.types = ValueTypes::NONE;
            }
            if let Some(types) = part.get("type") {
                self.types = self.types.and(ValueTypes::of_keyword(types));
            }
            self.parts.push(part);
        }
        if let Some(values) = self.values() {
            let of_values = values.iter().map(ValueTypes::of_value).fold(ValueTypes::NONE, ValueTypes::or);
            self.types = self.types.and(of_values);
        }
    }

    /// What each part says under a keyword.
    pub(super) fn said(&self, keyword: &str) -> impl Iterator<Item = &'s Value> {
        self.parts.iter().filter_map(move |part| part.get(keyword))
    }

    /// The values of which it is one, where those are written down.
    pub(super) fn values(&self) -> Option<Vec<Value>> {
        let listed = self.parts.iter().find_map(|part| match (part.get("const"), part.get("enum")) {
            (Some(one), _) => Some(vec![one.clone()]),
            (None, Some(Value::Array(several))) => Some(several.clone()),
            (None, _) => None,
        });
        let few = ValueTypes::NULL.or(ValueTypes::BOOLEAN);
        listed.or_else(|| {
            (self.types.within(few) && !self.types.is_empty()).then(|| {
                let all = [Value::Null, Value::Bool(false), Value::Bool(true)];
                all.into_iter().filter(|value| ValueTypes::of_value(value).within(self.types)).collect()
            })
        })
    }

    /// Every schema that may look at it.
    pub(super) fn in_place(&self) -> &[SchemaAt<'s>] {
        self.in_place.get_or_init(|| {
            let mut seen = HashSet::new();
            let all = self.parts.iter().flat_map(|part| part.in_place());
            all.filter(|schema| seen.insert(schema.address())).collect()
        })
    }

    /// The first alternatives of which none has been taken yet.
    pub(super) fn alternatives(&self) -> Option<Vec<SchemaAt<'s>>> {
        self.parts.iter().find_map(|part| {
            ["anyOf", "oneOf"].into_iter().find_map(|keyword| {
                let list = part.get(keyword)?.as_array()?;
                let is_left = !self.taken.contains(&(std::ptr::from_ref(list) as usize));
                (is_left && !list.is_empty()).then(|| part.list(keyword).collect())
            })
        })
    }

    /// The same where one of the alternatives holds.
    pub(super) fn taking(&self, alternatives: &[SchemaAt<'s>], one: SchemaAt<'s>) -> Known<'s> {
        let mut known = self.clone();
        let lists = self.parts.iter().flat_map(|part| [part.get("anyOf"), part.get("oneOf")]);
        let list = lists.flatten().filter_map(Value::as_array).find(|list| {
            list.first().is_some_and(|first| {
                alternatives.first().is_some_and(|known| known.address() == std::ptr::from_ref(first) as usize)
            })
        });
        known.taken.extend(list.map(|list| std::ptr::from_ref(list) as usize));
        known.add(one);
        known
    }

    fn addresses(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.parts.iter().map(|part| part.address()).collect();
        all.extend(&self.taken);
        all.sort_unstable();
        all
    }
}

impl Proof {
    /// What stands in the way of `smaller` lying within `larger`.
    pub(crate) fn obstacles(smaller: SchemaAt<'_>, larger: SchemaAt<'_>, tolerant: bool) -> Vec<Obstacle> {
        let mut proof = Proof { tolerant, ..Proof::default() };
        proof.prove(&Known::new([smaller], true), larger);
        proof.obstacles.into_iter().take(MAX_OBSTACLES).collect()
    }

    /// Tries to show that whatever is `known` is admitted by `larger`, and notes what stands in the way.
    pub(super) fn prove(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.depth == MAX_DEPTH {
            self.steps = MAX_STEPS;
            return self.obstacle(Facet::Unclear, "", "the schemas are too large to be compared here");
        }
        if known.types.is_empty() || *larger.value == Value::Bool(true) {
            return;
        }
        if known.parts.iter().any(|part| self.is_same(*part, larger)) {
            return;
        }
        let goal = (known.addresses(), known.types, larger.address());
        if !self.assumed.insert(goal.clone()) {
            return;
        }
        self.depth += 1;
        self.by_cases(known, larger);
        self.depth -= 1;
        self.assumed.remove(&goal);
    }

    /// Shows it directly, or else for each alternative.
    fn by_cases(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        if let Some(values) = known.values() {
            let mut taken = values.iter().map(|value| accepts(larger, value, self.tolerant, 0));
            if taken.all(|verdict| verdict == Some(true)) {
                return;
            }
        }
        let before = std::mem::take(&mut self.obstacles);
        self.directly(known, larger);
        if self.obstacles.is_empty() {
            self.obstacles = before;
            return;
        }
        let direct = std::mem::take(&mut self.obstacles);
        if let Some(alternatives) = known.alternatives().filter(|cases| cases.len() <= MAX_CASES) {
            for one in &alternatives {
                self.prove(&known.taking(&alternatives, *one), larger);
            }
        } else if has_alternatives(larger) && known.types.single().count() > 1 {
            for types in known.types.single() {
                self.prove(&Known { types, ..known.clone() }, larger);
            }
        } else {
            self.obstacles = direct;
        }
        self.obstacles.extend(before);
    }

    fn directly(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        match larger.value {
            Value::Bool(true) => {}
            Value::Object(_) => {
                self.reference(known, larger);
                self.general(known, larger);
                self.alternatives(known, larger);
                if known.types.meets(ValueTypes::NUMBER) {
                    self.numbers(known, larger);
                }
                if known.types.meets(ValueTypes::STRING) {
                    self.strings(known, larger);
                }
                if known.types.meets(ValueTypes::OBJECT) {
                    self.objects(known, larger);
                }
                if known.types.meets(ValueTypes::ARRAY) {
                    self.arrays(known, larger);
                }
            }
            Value::Bool(false) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.obstacle(Facet::Type, "", "no value at all");
            }
        }
    }

    fn reference(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        match larger.referred() {
            Some(Ok(referred)) => self.prove(known, referred),
            Some(Err(())) => self.obstacle(Facet::Unclear, "", "a reference leads nowhere"),
            None => {}
        }
        if larger.get("$dynamicRef").is_some() {
            self.obstacle(Facet::Unclear, "", "a dynamic reference");
        }
    }

    /// `type`, `enum` and `const`.
    fn general(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) {
        if let Some(types) = larger.get("type")
            && !known.types.within(ValueTypes::of_keyword(types))
        {
            let admitted = known.said("type").next();
            self.differs(Facet::Type, admitted, types);
        }
        let wanted: Option<Vec<&Value>> = match (larger.get("const"), larger.get("enum")) {
            // Both hold where both are said.
            (Some(one), Some(Value::Array(several))) => Some(several.iter().filter(|value| same(one, value)).collect()),
            (Some(one), _) => Some(vec![one]),
            (None, Some(Value::Array(several))) => Some(several.iter().collect()),
            (None, _) => None,
        };
        if let Some(wanted) = wanted {
            let admitted = known.values();
            let is_within = admitted
                .as_ref()
                .is_some_and(|values| values.iter().all(|value| wanted.iter().any(|known| same(known, value))));
            if !is_within {
                let shown = admitted.map(Value::Array);
                let wanted = Value::Array(wanted.into_iter().cloned().collect());
                self.differs(Facet::Enum, shown.as_ref(), &wanted);
            }
        }
    }

    /// Whether both say the same, wherever they stand: the same text, which refers to the same things.
    pub(super) fn is_same(&mut self, a: SchemaAt<'_>, b: SchemaAt<'_>) -> bool {
        let is_one = a.address() == b.address() && std::ptr::eq(a.document, b.document);
        is_one
            || (a.value == b.value
                && references(b.value).into_iter().all(|reference| {
                    if let Some(known) = self.agreed.get(reference) {
                        return *known;
                    }
                    let agreed = agreed(a, b, reference);
                    let is_agreed = agreed.is_some();
                    self.agreed.extend(agreed.into_iter().flatten().map(|name| (name, true)));
                    self.agreed.entry(reference.to_owned()).or_insert(is_agreed);
                    is_agreed
                }))
    }

    /// Whether it can be shown. Nothing is noted.
    pub(super) fn shows(&mut self, known: &Known<'_>, larger: SchemaAt<'_>) -> bool {
        let goal = (known.addresses(), known.types, larger.address());
        if self.failed.contains(&goal) {
            return false;
        }
        let before = std::mem::take(&mut self.obstacles);
        self.prove(known, larger);
        let shown = self.obstacles.is_empty();
        self.obstacles = before;
        if !shown {
            self.failed.insert(goal);
        }
        shown
    }

    /// Goes on below one step of the place.
    pub(super) fn at(&mut self, step: PlaceStep, go_on: impl FnOnce(&mut Proof)) {
        self.place.push(step);
        go_on(self);
        self.place.pop();
    }

    pub(super) fn differs(&mut self, facet: Facet, admitted: Option<&Value>, wanted: &Value) {
        let admitted = admitted.map(shown).unwrap_or_default();
        self.obstacle(facet, &admitted, &shown(wanted));
    }

    pub(super) fn obstacle(&mut self, facet: Facet, admitted: &str, wanted: &str) {
        if self.obstacles.len() <= MAX_OBSTACLES {
            self.obstacles.insert(Obstacle {
                facet,
                place: self.place.clone(),
                admitted: admitted.to_owned(),
                wanted: wanted.to_owned(),
            });
        }
    }
}

/// How much of a value is shown.
const MAX_SHOWN: usize = 160;

/// A value in a sentence.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn has_alternatives(larger: SchemaAt<'_>) -> bool {
    larger
        .conjuncts()
        .iter()
        .any(|part| ["anyOf", "oneOf", "not", "if"].into_iter().any(|keyword| part.get(keyword).is_some()))
}

/// The references that are reached from one, if all of them mean the same in both documents.
fn agreed(a: SchemaAt<'_>, b: SchemaAt<'_>, reference: &str) -> Option<BTreeSet<String>> {
    let mut reached = BTreeSet::from([reference.to_owned()]);
    let mut left = vec![reference.to_owned()];
    while let Some(next) = left.pop() {
        let (one, other) = (a.document.referred(&next)?, b.document.referred(&next)?);
        if one != other {
            return None;
        }
        left.extend(references(one).into_iter().map(str::to_owned).filter(|found| reached.insert(found.clone())));
    }
    Some(reached)
}
