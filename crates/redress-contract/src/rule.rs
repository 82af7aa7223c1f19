//! What a rule is, wherever its check stands.

/// A rule that declarations are held to: one row of the catalogue of whoever checks it.
///
/// Ids are stable, and never used again for something else.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Lower-case words joined by hyphens, such as `no-recovery`.
    pub id: &'static str,
    /// The version that had it first.
    pub since: &'static str,
    /// What follows where it is broken.
    pub level: RuleLevel,
    /// Its page, in Markdown: what it means, why it matters, an example and what to do.
    pub page: &'static str,
}

/// What follows where a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RuleLevel {
    /// Nothing is built from such declarations.
    Deny,
    /// It is told, and nothing stops for it.
    Warn,
}

impl RuleLevel {
    /// As it is written: `deny`, `warn`.
    pub const fn as_str(self) -> &'static str {
        match self {
            RuleLevel::Deny => "deny",
            RuleLevel::Warn => "warn",
        }
    }
}
