//! The grammar of codes: `FILE_NOT_FOUND`, or `ns.FILE_NOT_FOUND` for an extension.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};

/// The stable, machine-readable name of a failure.
///
/// Codes are append-only: one is never renamed and never used for something else.
/// Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Code(Arc<str>);

/// Why a text is not a code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a code: write upper-case words joined by single underscores, at most 63 characters, such as `{suggestion}`"
)]
pub struct CodeError {
    /// What was given.
    pub text: String,
    /// The nearest text that is a code.
    pub suggestion: String,
}

impl Code {
    /// The longest a code may be, its namespace not counted.
    pub const MAX: usize = 63;

    /// Reads a code, bare or with an extension's namespace before a dot.
    pub fn new(text: &str) -> Result<Code, CodeError> {
        let key = match text.split_once('.') {
            Some((namespace, key)) if is_namespace(namespace) => key,
            Some(_) | None => text,
        };
        if is_key(key) {
            Ok(Code(text.into()))
        } else {
            Err(CodeError { text: text.to_owned(), suggestion: suggestion(text) })
        }
    }

    /// The code `key` of the extension that owns `namespace`.
    pub fn namespaced(namespace: &str, key: &str) -> Result<Code, CodeError> {
        Code::new(&format!("{namespace}.{key}"))
    }

    /// A code that the caller keeps as it is, to report what is wrong with it later.
    pub(crate) fn unchecked(text: &str) -> Code {
        Code(text.into())
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The extension's namespace, where there is one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('.').map(|(namespace, _)| namespace)
    }

    /// Where the page about this code is, relative to the service.
    pub fn docs_url(&self) -> String {
        format!("/errors/{}", self.0)
    }
}

/// Whether `text` may stand before the dot of an extension's code.
pub(crate) fn is_namespace(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn is_key(text: &str) -> bool {
    text.len() <= Code::MAX
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text
            .split('_')
            .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()))
}

fn suggestion(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect();
    let joined = words.join("_");
    let joined = joined.trim_start_matches(|c: char| c == '_' || c.is_ascii_digit());
    let cut = joined.get(..joined.len().min(Code::MAX)).unwrap_or(joined).trim_end_matches('_');
    if is_key(cut) { cut.to_owned() } else { "FILE_NOT_FOUND".to_owned() }
}

impl TryFrom<String> for Code {
    type Error = CodeError;

    fn try_from(text: String) -> Result<Code, CodeError> {
        Code::new(&text)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Borrow<str> for Code {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_upper_case_words_joined_by_single_underscores() {
        for good in ["A", "FILE_NOT_FOUND", "HTTP_404", "A1", "trace.BUDGET_EXCEEDED", "a11y.UNSUPPORTED"] {
            assert!(Code::new(good).is_ok(), "{good}");
        }
        let long = "A".repeat(64);
        for bad in [
            "",
            "_A",
            "A_",
            "A__B",
            "a",
            "File",
            "4XX",
            "A-B",
            "A.B",
            "x.y.Z",
            "x.",
            ".X",
            "Ns.CODE",
            "É",
            long.as_str(),
        ] {
            assert!(Code::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refused_code_comes_with_one_that_would_do() {
        let error = Code::new("file not-found").unwrap_err();
        assert_eq!(error.suggestion, "FILE_NOT_FOUND");
    }
}
