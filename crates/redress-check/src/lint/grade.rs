//! A grade for each operation, and for all of them.

use std::collections::BTreeMap;

use redress_contract::{Finding, RuleLevel};
use serde::Serialize;

use super::lint_rule;
use crate::Lock;

/// How well an operation, or a contract, is made for those who call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// Nothing was found.
    A,
    /// A warning, or two.
    B,
    /// More warnings, or one error.
    C,
    /// Two errors.
    D,
    /// More.
    F,
}

impl Grade {
    fn of(errors: usize, warnings: usize) -> Grade {
        match (errors, warnings) {
            (0, 0) => Grade::A,
            (0, 1 | 2) => Grade::B,
            (0 | 1, _) => Grade::C,
            (2, _) => Grade::D,
            _ => Grade::F,
        }
    }
}

/// The grade of each operation, by what was found of it, and that of the contract: the one that most operations reach at
/// least.
///
/// ```
/// use redress_check::{Grade, Lock, grades, lint};
/// use redress_contract::{Contract, OperationDeclaration};
///
/// let lock = Lock::of(&Contract::new([OperationDeclaration::query("orders.get")]));
/// let (each, all) = grades(&lock, &lint(&lock));
/// assert_eq!(each["orders.get"], all);
/// assert!(all > Grade::A);
/// ```
pub fn grades(lock: &Lock, found: &[Finding]) -> (BTreeMap<String, Grade>, Grade) {
    let mut counts: BTreeMap<&str, (usize, usize)> =
        lock.operations().map(|operation| (operation.name().as_str(), (0, 0))).collect();
    for finding in found {
        let operation = finding.subject().split('/').next().unwrap_or_default();
        let Some((errors, warnings)) = counts.get_mut(operation) else { continue };
        let is_error = lint_rule(finding.rule()).is_some_and(|rule| rule.level() == RuleLevel::Deny);
        *(if is_error { errors } else { warnings }) += 1;
    }
    let each: BTreeMap<String, Grade> =
        counts.into_iter().map(|(name, (errors, warnings))| (name.to_owned(), Grade::of(errors, warnings))).collect();
    let mut sorted: Vec<Grade> = each.values().copied().collect();
    sorted.sort_unstable();
    let all = sorted.get(sorted.len() / 2).copied().unwrap_or(Grade::A);
    (each, all)
}
