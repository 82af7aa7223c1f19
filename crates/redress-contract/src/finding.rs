//! What a rule says about a declaration.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::Rule;

/// What one rule says about one declaration: which rule, about what, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    #[serde(serialize_with = "id")]
    rule: &'static Rule,
    subject: String,
    says: String,
    help: String,
}

/// A finding names its rule; the page is for whoever looks it up.
fn id<S: Serializer>(rule: &&'static Rule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.id)
}

impl Finding {
    /// What `rule` says about `subject`, and what to do about it.
    pub fn new(
        rule: &'static Rule,
        subject: impl Into<String>,
        says: impl Into<String>,
        help: impl Into<String>,
    ) -> Finding {
        Finding { rule, subject: subject.into(), says: says.into(), help: help.into() }
    }

    /// The rule's stable id.
    pub fn rule(&self) -> &'static str {
        self.rule.id
    }

    /// The operation, code or extension it is about.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// What is wrong.
    pub fn says(&self) -> &str {
        &self.says
    }

    /// What to write instead.
    pub fn help(&self) -> &str {
        &self.help
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}\n  help: {}", self.rule.id, self.subject, self.says, self.help)
    }
}
