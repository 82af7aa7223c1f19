//! Profiles, as they are typed: `reading=files.read,files.list`.

use std::str::FromStr;

/// A named set of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedProfile {
    pub(crate) name: String,
    pub(crate) patterns: Vec<String>,
}

/// That a text is no profile.
#[derive(Debug, thiserror::Error)]
#[error("expected a profile such as `reading=files.read,files.list`")]
pub(crate) struct NoProfile;

impl FromStr for NamedProfile {
    type Err = NoProfile;

    fn from_str(text: &str) -> Result<NamedProfile, NoProfile> {
        let (name, patterns) = text.split_once('=').ok_or(NoProfile)?;
        let patterns: Vec<String> = patterns.split(',').map(|pattern| pattern.trim().to_owned()).collect();
        if name.trim().is_empty() || patterns.iter().any(String::is_empty) {
            return Err(NoProfile);
        }
        Ok(NamedProfile { name: name.trim().to_owned(), patterns })
    }
}
