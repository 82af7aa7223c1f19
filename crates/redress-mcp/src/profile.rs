//! Named sets of operations.

use redress_contract::Name;

/// A named set of operations: `files.*` is a whole namespace, `files.read` one operation, `*`
/// everything.
///
/// ```
/// use redress_contract::Name;
/// use redress_mcp::Profile;
///
/// let reading = Profile::new("reading", ["files.read", "notes.*"]);
/// assert!(reading.holds(&Name::new("files.read").unwrap()));
/// assert!(reading.holds(&Name::new("notes.old.list").unwrap()));
/// assert!(!reading.holds(&Name::new("files.remove").unwrap()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    name: String,
    patterns: Vec<String>,
}

impl Profile {
    /// The set of this name that holds what one of `patterns` fits.
    pub fn new<P: Into<String>>(name: impl Into<String>, patterns: impl IntoIterator<Item = P>) -> Profile {
        Profile { name: name.into(), patterns: patterns.into_iter().map(Into::into).collect() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the operation is in it.
    pub fn holds(&self, operation: &Name) -> bool {
        self.patterns.iter().any(|pattern| fits(pattern, operation.as_str()))
    }

    /// The first pattern that none of `operations` fits: a set that lost a member in silence
    /// would be found out by whoever misses it.
    pub(crate) fn idle<'a>(&self, operations: impl Iterator<Item = &'a Name> + Clone) -> Option<&str> {
        let idle = |pattern: &&String| !operations.clone().any(|operation| fits(pattern, operation.as_str()));
        self.patterns.iter().find(idle).map(String::as_str)
    }
}

fn fits(pattern: &str, operation: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => prefix.is_empty() || (prefix.ends_with('.') && operation.starts_with(prefix)),
        None => pattern == operation,
    }
}
