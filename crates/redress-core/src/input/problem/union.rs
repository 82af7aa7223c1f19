//! The branch of a union that a caller most likely meant.
//!
//! "Not valid under any of the given schemas" helps nobody. A branch whose tag fits was meant; where no
//! tag fits, the tag is what is wrong; where branches differ in type alone, all types are named.

use jsonschema::ValidationError;
use serde_json::Value;

use super::{Cause, Level, Problem, Search};

impl Search<'_> {
    /// The problems to tell for a union at `at`, given the errors of each branch.
    pub(super) fn meant(
        &self,
        context: &[Vec<ValidationError<'static>>],
        level: &Level,
        around: &str,
        at: &str,
        deeper: usize,
    ) -> Option<Vec<Problem>> {
        let branches: Vec<Vec<Problem>> = context
            .iter()
            .map(|errors| {
                let found = errors.iter().flat_map(|error| self.behind(error, level, around, deeper));
                found.flat_map(|problem| self.opened(problem, at, deeper)).collect()
            })
            .collect();
        if let Some(types) = all_types(&branches, at) {
            return Some(vec![types]);
        }
        if let Some(choice) = all_choices(&branches, at) {
            return Some(vec![choice]);
        }
        // The branches for another type of value say nothing about this one.
        let fitting: Vec<&Vec<Problem>> =
            branches.iter().filter(|branch| !branch.iter().any(|problem| is_type(problem, at))).collect();
        if let Some(tag) = wrong_tag(&fitting) {
            return Some(vec![tag]);
        }
        fitting.into_iter().min_by_key(|branch| branch.iter().map(weight).sum::<usize>()).cloned()
    }

    /// A branch that only refers to another schema is judged by what that schema says about this value.
    fn opened(&self, problem: Problem, at: &str, deeper: usize) -> Vec<Problem> {
        // Enough to tell the branches apart.
        const ENOUGH: usize = 30;
        match &problem.cause {
            Cause::Behind { reference } if deeper > 0 && problem.at == at => {
                self.level(reference, at, deeper - 1, ENOUGH)
            }
            Cause::Behind { .. }
            | Cause::Unknown { .. }
            | Cause::Missing { .. }
            | Cause::Type { .. }
            | Cause::Choice { .. }
            | Cause::Rule { .. } => vec![problem],
        }
    }
}

/// How much a problem speaks against its branch.
fn weight(problem: &Problem) -> usize {
    match problem.cause {
        Cause::Choice { .. } => 100,
        Cause::Type { .. } | Cause::Rule { .. } | Cause::Behind { .. } => 2,
        Cause::Unknown { .. } | Cause::Missing { .. } => 3,
    }
}

fn is_type(problem: &Problem, at: &str) -> bool {
    problem.at == at && matches!(problem.cause, Cause::Type { .. })
}

/// Every branch wants another type of value: any of them will do.
fn all_types(branches: &[Vec<Problem>], at: &str) -> Option<Problem> {
    let mut all = Vec::new();
    for branch in branches {
        let wanted = branch.iter().find_map(|problem| match &problem.cause {
            Cause::Type { names } if problem.at == at => Some(names),
            Cause::Type { .. }
            | Cause::Unknown { .. }
            | Cause::Missing { .. }
            | Cause::Choice { .. }
            | Cause::Rule { .. }
            | Cause::Behind { .. } => None,
        })?;
        all.extend(wanted.iter().copied());
    }
    all.dedup();
    (!all.is_empty()).then(|| Problem { at: at.to_owned(), rule: "type".to_owned(), cause: Cause::Type { names: all } })
}

/// Every branch that takes this type of value wants another value, as in an enum with documented
/// variants.
fn all_choices(branches: &[Vec<Problem>], at: &str) -> Option<Problem> {
    let fitting = branches.iter().filter(|branch| !branch.iter().any(|problem| is_type(problem, at)));
    let options = choices(fitting, at)?;
    Some(Problem { at: at.to_owned(), rule: "enum".to_owned(), cause: Cause::Choice { options } })
}

/// Every branch wants another value in the same field: that field is the tag.
fn wrong_tag(branches: &[&Vec<Problem>]) -> Option<Problem> {
    let first = branches.first()?;
    first.iter().find_map(|problem| {
        let options = choices(branches.iter().copied(), &problem.at)?;
        Some(Problem { at: problem.at.clone(), rule: "enum".to_owned(), cause: Cause::Choice { options } })
    })
}

/// The values wanted at `at`, if every branch wants some.
fn choices<'a>(branches: impl Iterator<Item = &'a Vec<Problem>>, at: &str) -> Option<Vec<Value>> {
    let mut all: Vec<Value> = Vec::new();
    for branch in branches {
        let wanted = branch.iter().find_map(|problem| match &problem.cause {
            Cause::Choice { options } if problem.at == at => Some(options),
            Cause::Choice { .. }
            | Cause::Unknown { .. }
            | Cause::Missing { .. }
            | Cause::Type { .. }
            | Cause::Rule { .. }
            | Cause::Behind { .. } => None,
        })?;
        for option in wanted {
            if !all.contains(option) {
                all.push(option.clone());
            }
        }
    }
    (!all.is_empty()).then_some(all)
}
