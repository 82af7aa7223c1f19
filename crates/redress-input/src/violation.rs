//! What is wrong with a document, in the terms that an explanation and a fix both work with.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::budget::StepBudget;
use super::instance_path::{PathStep, value_at};
use super::near_words::{CANDIDATES, NearWord, nearest};
use super::tree::{MemberRules, NodeId, SchemaRule, Tree};
use super::{walk, wording};

/// One thing wrong with a document. It borrows from the schema and the document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Violation<'a> {
    /// The value that breaks the rule; for a field that is unknown or missing, the object around it.
    pub(super) at: Vec<PathStep<'a>>,
    /// The schema keyword.
    pub(super) rule: &'static str,
    pub(super) cause: ViolationCause<'a>,
}

/// What the rule wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ViolationCause<'a> {
    /// There is no field of this name in what `object` describes.
    Unknown { name: &'a str, object: NodeId },
    /// There has to be a field of this name.
    Missing { name: &'a str, object: NodeId },
    /// A value of one of these types.
    Type { names: Vec<&'static str> },
    /// One of these values.
    Choice { options: Options<'a> },
    /// Anything else, in words.
    Rule { expected: Cow<'a, str> },
    /// What the schema behind a reference wants; a stand-in that is followed before anybody sees it.
    Behind { target: NodeId, value: &'a Value },
}

/// The values to choose from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Options<'a> {
    /// By one keyword.
    Listed(&'a [Value]),
    /// By the branches of a union.
    Gathered(Rc<[&'a Value]>),
}

impl<'a> Options<'a> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a Value> {
        let (listed, gathered) = match self {
            Self::Listed(options) => (*options, None),
            Self::Gathered(options) => (&[][..], Some(Rc::clone(options))),
        };
        let gathered =
            gathered.into_iter().flat_map(|options| (0..options.len()).map_while(move |n| options.get(n).copied()));
        listed.iter().chain(gathered)
    }
}

impl Violation<'_> {
    /// The name to go on with from `at`: of the field itself where it is unknown or missing.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.cause {
            ViolationCause::Unknown { name, .. } | ViolationCause::Missing { name, .. } => Some(name),
            ViolationCause::Type { .. }
            | ViolationCause::Choice { .. }
            | ViolationCause::Rule { .. }
            | ViolationCause::Behind { .. } => None,
        }
    }
}

/// The problems of a document that its schema refuses, in the order of the schema and at most one more than
/// `max`; none if the budget ended before one was found.
pub(super) fn problems<'a>(
    tree: &'a Tree,
    document: &'a Value,
    budget: &'a StepBudget<'a>,
    max: usize,
) -> Vec<Violation<'a>> {
    let mut found = walk::problems(tree, document, budget, max);
    // Where a choice is wanted, the type of the choices goes without saying.
    let chosen: Vec<Vec<PathStep<'a>>> = found
        .iter()
        .filter(|problem| matches!(problem.cause, ViolationCause::Choice { .. }))
        .map(|problem| problem.at.clone())
        .collect();
    found.retain(|problem| !matches!(problem.cause, ViolationCause::Type { .. }) || !chosen.contains(&problem.at));
    found
}

/// How many schemas deep the values of an enum are looked for.
const MAX_DEPTH: usize = 4;

/// What problems are told against: the schema, the document, and how much may be spent on looking for words.
pub(super) struct ViolationContext<'a> {
    tree: &'a Tree,
    document: &'a Value,
    budget: &'a StepBudget<'a>,
    known: RefCell<HashMap<NodeId, Rc<[&'a str]>>>,
}

impl<'a> ViolationContext<'a> {
    pub(super) fn new(tree: &'a Tree, document: &'a Value, budget: &'a StepBudget<'a>) -> Self {
        Self { tree, document, budget, known: RefCell::default() }
    }

    /// What was wanted, in words.
    pub(super) fn expected(&self, problem: &Violation<'a>) -> String {
        wording::cut(match &problem.cause {
            ViolationCause::Unknown { object, .. } => wording::unknown_field(&self.known(*object)),
            ViolationCause::Missing { name, object } => wording::missing_field(self.described(*object, name)),
            ViolationCause::Rule { expected } => expected.clone().into_owned(),
            ViolationCause::Type { names } => wording::types(names.iter().copied()),
            ViolationCause::Choice { options } => wording::choice(options.iter()),
            ViolationCause::Behind { .. } => "a value that fits the schema".to_owned(),
        })
    }

    /// The known name or value nearest to what the document has here.
    pub(super) fn near(&self, problem: &Violation<'a>) -> Option<NearWord<'a>> {
        match &problem.cause {
            ViolationCause::Unknown { name, object } => nearest(name, self.known(*object).iter().copied(), self.budget),
            ViolationCause::Choice { options } => {
                let sent = self.value(problem)?.as_str()?;
                nearest(sent, options.iter().filter_map(Value::as_str), self.budget)
            }
            ViolationCause::Missing { .. }
            | ViolationCause::Type { .. }
            | ViolationCause::Rule { .. }
            | ViolationCause::Behind { .. } => None,
        }
    }

    /// The known name nearest to an unknown one, if its object does not have that yet. Where it does, the next
    /// nearest is not what was meant.
    pub(super) fn near_and_free(&self, problem: &Violation<'a>, name: &str, object: NodeId) -> Option<NearWord<'a>> {
        let members = self.value(problem)?.as_object()?;
        let near = nearest(name, self.known(object).iter().copied(), self.budget)?;
        (!members.contains_key(near.word)).then_some(near)
    }

    /// The value at the place of a problem.
    pub(super) fn value(&self, problem: &Violation<'_>) -> Option<&'a Value> {
        value_at(self.document, &problem.at)
    }

    /// What is said about a field that is missing.
    fn described(&self, object: NodeId, name: &str) -> Option<String> {
        let field = self.tree.members(object)?.known(name)?;
        let choice = self.options(field, MAX_DEPTH).filter(|options| !options.is_empty());
        choice
            .map(wording::choice)
            .or_else(|| self.tree.types(field).map(|types| wording::types(types.listed.iter().copied())))
    }

    /// The values that a node may have, where they are listed: by itself, or by each of its variants, as an enum whose
    /// variants are described has them.
    fn options(&self, node: NodeId, depth: usize) -> Option<Vec<&'a Value>> {
        if let Some(choice) = self.tree.choice(node) {
            return Some(choice.options.iter().collect());
        }
        let depth = depth.checked_sub(1)?;
        let mut rules = self.tree.rules(node).iter().filter(|rule| !rule.parts().is_empty());
        let (rule, None) = (rules.next()?, rules.next()) else { return None };
        let mut options = Vec::new();
        for part in rule.parts() {
            if !self.budget.spend(1) {
                return None;
            }
            options.extend(self.options(*part, depth)?);
        }
        Some(options)
    }

    /// The names of the fields an object may have, wherever its schema puts them.
    fn known(&self, object: NodeId) -> Rc<[&'a str]> {
        if let Some(known) = self.known.borrow().get(&object) {
            return Rc::clone(known);
        }
        let known: Rc<[&'a str]> = self.gathered(object).into();
        self.known.borrow_mut().insert(object, Rc::clone(&known));
        known
    }

    fn gathered(&self, object: NodeId) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut listed = HashSet::new();
        let mut seen = HashSet::new();
        let mut left = vec![object];
        while let Some(node) = left.pop() {
            if !seen.insert(node) || !self.budget.spend(1) {
                continue;
            }
            for (name, _) in self.tree.members(node).into_iter().flat_map(MemberRules::all_known) {
                // One more than is compared, so that it shows that there are more.
                if names.len() > CANDIDATES || !self.budget.spend(1) {
                    return names;
                }
                if listed.insert(&**name) {
                    names.push(&**name);
                }
            }
            let parts: Vec<NodeId> = self.tree.rules(node).iter().flat_map(SchemaRule::parts).copied().collect();
            left.extend(parts.into_iter().rev());
        }
        names
    }
}
