//! A rule about one contract.

use std::fmt;

use redress_contract::{Finding, Rule, RuleLevel};

use crate::Lock;

/// A rule about one contract: one row of the catalogue.
pub struct LintRule {
    pub(crate) rule: Rule,
    pub(crate) check: fn(&Lock, &mut LintsOf),
}

impl LintRule {
    /// Its stable id.
    pub fn id(&self) -> &'static str {
        self.rule.id
    }

    /// The version since which it exists.
    pub fn since(&self) -> &'static str {
        self.rule.since
    }

    /// What follows where it is broken and nobody says otherwise.
    pub fn level(&self) -> RuleLevel {
        self.rule.level
    }

    /// Its page, in Markdown.
    pub fn page(&self) -> &'static str {
        self.rule.page
    }
}

impl fmt::Debug for LintRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule.id)
    }
}

/// What one rule has found.
pub(crate) struct LintsOf {
    rule: &'static Rule,
    pub(crate) found: Vec<Finding>,
}

impl LintsOf {
    pub(crate) fn new(rule: &'static LintRule) -> LintsOf {
        LintsOf { rule: &rule.rule, found: Vec::new() }
    }

    pub(crate) fn push(&mut self, subject: &str, says: impl Into<String>, help: &str) {
        self.found.push(Finding::new(self.rule, subject, says, help));
    }
}
