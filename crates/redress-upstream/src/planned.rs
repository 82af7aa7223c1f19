//! An operation of a document, with everything that its calls have in common.

use redress_import::ImportedOperation;
use reqwest::Url;

use crate::fails_when::FailsWhenRule;

/// An operation, ready to be called.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) imported: ImportedOperation,
    /// Where it is served.
    pub(crate) base: Url,
    /// What makes a success none.
    pub(crate) rules: Vec<FailsWhenRule>,
}

impl Planned {
    /// The security schemes that it asks for, each once.
    pub(crate) fn schemes(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.imported.security.iter().flat_map(|one| one.schemes.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
