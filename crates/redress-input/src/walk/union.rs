//! The branch of a union that a caller most likely meant.
//!
//! "Not valid under any of the given schemas" helps nobody. A branch whose tag fits was meant; where no
//! tag fits, the tag is what is wrong; where branches differ in type alone, all types are named. The
//! branches are judged one after the other, and of each no more is kept than that takes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::SchemaWalk;
use super::collect::InstancePath;
use crate::instance_path::PathStep;
use crate::tree::NodeId;
use crate::violation::{Options, Violation, ViolationCause};

/// The place of a union whose branches are being judged: a branch that only refers to another schema is
/// judged by what that schema says about this value.
#[derive(Clone, Copy)]
pub(super) struct OpenUnion {
    at: usize,
    left: usize,
}

impl OpenUnion {
    /// References from one schema to the next at the same place, as in a union of named types.
    const DEEPER: usize = 4;

    /// What is left of this after following a reference at a place this deep; `None` if it is not to be
    /// followed.
    pub(super) fn deeper(self, at: usize) -> Option<Self> {
        let left = self.left.checked_sub(1)?;
        (self.at == at).then_some(Self { at, left })
    }
}

impl<'a> SchemaWalk<'a> {
    /// Adds the problems to tell for a union that has no branch for `value`.
    pub(super) fn union(
        &mut self,
        keyword: &'static str,
        branches: &[NodeId],
        value: &'a Value,
        at: &mut InstancePath<'a>,
        opened: Option<OpenUnion>,
        found: &mut Vec<Violation<'a>>,
    ) {
        // A branch with more problems than this was not meant.
        const ENOUGH: usize = 30;
        let within = match opened {
            Some(opened) if opened.at == at.len() => opened,
            Some(_) | None => OpenUnion { at: at.len(), left: OpenUnion::DEEPER },
        };
        let outer = std::mem::replace(&mut self.max, ENOUGH);
        let mut judgement = Judgement::new(at.clone());
        for branch in branches {
            let mut problems = Vec::new();
            self.collect(*branch, value, at, Some(within), &mut problems);
            if self.budget.is_spent() {
                break;
            }
            judgement.hear(problems);
        }
        self.max = outer;
        // What half of the branches say may be the opposite of what all of them say.
        if self.budget.is_spent() {
            return;
        }
        let expected = Cow::Borrowed("a value that fits one of the alternatives");
        let meant = judgement.meant().unwrap_or_else(|| {
            vec![Violation { at: at.clone(), rule: keyword, cause: ViolationCause::Rule { expected } }]
        });
        let room = (self.max + 1).saturating_sub(found.len());
        found.extend(meant.into_iter().take(room));
    }
}

/// What is known about the branches so far.
struct Judgement<'a> {
    at: Vec<PathStep<'a>>,
    /// The types that the branches want here, as long as all of them want another one.
    types: Option<Vec<&'static str>>,
    /// The places where every branch for this type of value wants another value; before there is such a
    /// branch, unknown.
    choices: Option<Vec<WantedValues<'a>>>,
    /// The branch for this type of value that has the least against it.
    best: Option<(usize, Vec<Violation<'a>>)>,
}

struct WantedValues<'a> {
    at: Vec<PathStep<'a>>,
    options: Vec<&'a Value>,
    listed: HashSet<&'a Value>,
}

impl<'a> WantedValues<'a> {
    fn extend(&mut self, options: &Options<'a>) {
        for option in options.iter() {
            if self.listed.insert(option) {
                self.options.push(option);
            }
        }
    }
}

impl<'a> Judgement<'a> {
    fn new(at: Vec<PathStep<'a>>) -> Self {
        Self { at, types: Some(Vec::new()), choices: None, best: None }
    }

    /// Takes the problems of one more branch into account.
    fn hear(&mut self, branch: Vec<Violation<'a>>) {
        let wanted = branch
            .iter()
            .filter(|problem| problem.at == self.at)
            .find_map(|problem| if let ViolationCause::Type { names } = &problem.cause { Some(names) } else { None });
        if let Some(wanted) = wanted {
            // A branch for another type of value says nothing about this one.
            if let Some(types) = &mut self.types {
                types.extend(wanted.iter().copied().filter(|name| !types.contains(name)).collect::<Vec<_>>());
            }
            return;
        }
        self.types = None;
        match &mut self.choices {
            None => self.choices = Some(choices(&branch)),
            Some(choices) => choices.retain_mut(|wanted| {
                let same = branch.iter().filter(|problem| problem.at == wanted.at).find_map(|problem| {
                    if let ViolationCause::Choice { options } = &problem.cause { Some(options) } else { None }
                });
                same.map(|options| wanted.extend(options)).is_some()
            }),
        }
        let weight = branch.iter().map(weight).sum();
        if self.best.as_ref().is_none_or(|(min, _)| weight < *min) {
            self.best = Some((weight, branch));
        }
    }

    /// What to tell; `None` if the branches leave nothing to say.
    fn meant(self) -> Option<Vec<Violation<'a>>> {
        if let Some(names) = self.types {
            return (!names.is_empty())
                .then(|| vec![Violation { at: self.at, rule: "type", cause: ViolationCause::Type { names } }]);
        }
        let mut choices = self.choices.unwrap_or_default();
        // A choice here goes before one in a field, as in an enum with documented variants.
        let chosen = choices.iter().position(|wanted| wanted.at == self.at).unwrap_or(0);
        if chosen < choices.len() {
            let WantedValues { at, options, .. } = choices.swap_remove(chosen);
            let options = Options::Gathered(Rc::from(options));
            return Some(vec![Violation { at, rule: "enum", cause: ViolationCause::Choice { options } }]);
        }
        self.best.map(|(_, problems)| problems).filter(|problems| !problems.is_empty())
    }
}

/// The places where a branch wants another value.
fn choices<'a>(branch: &[Violation<'a>]) -> Vec<WantedValues<'a>> {
    let mut found: Vec<WantedValues<'a>> = Vec::new();
    for problem in branch {
        if let ViolationCause::Choice { options } = &problem.cause
            && found.iter().all(|wanted| wanted.at != problem.at)
        {
            let mut wanted = WantedValues { at: problem.at.clone(), options: Vec::new(), listed: HashSet::new() };
            wanted.extend(options);
            found.push(wanted);
        }
    }
    found
}

/// How much a problem speaks against its branch.
fn weight(problem: &Violation<'_>) -> usize {
    match problem.cause {
        ViolationCause::Choice { .. } => 100,
        ViolationCause::Type { .. } | ViolationCause::Rule { .. } | ViolationCause::Behind { .. } => 2,
        ViolationCause::Unknown { .. } | ViolationCause::Missing { .. } => 3,
    }
}
