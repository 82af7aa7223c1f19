//! What is searched for: a regular expression, and globs for the files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use redress::data;

use crate::{search::SearchFailure, wire_path::WirePath};

/// How large a compiled expression may be.
const MAX_SIZE: usize = 1024 * 1024;

/// Whether case matters.
#[data]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaseSensitivity {
    // Its name says it.
    #[default]
    Sensitive,
    Insensitive,
    /// It matters if the pattern has a capital letter in it.
    Smart,
}

/// The expression, or where it goes wrong.
pub(crate) fn expression(pattern: &str, literal: bool, case: CaseSensitivity) -> Result<RegexMatcher, SearchFailure> {
    let built = RegexMatcherBuilder::new()
        .fixed_strings(literal)
        .case_insensitive(case == CaseSensitivity::Insensitive)
        .case_smart(case == CaseSensitivity::Smart)
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE)
        .nest_limit(100)
        .line_terminator(Some(b'\n'))
        .build(pattern);
    built.map_err(|_| explain(pattern))
}

/// What is wrong with `pattern`, in words that come from a closed list and not from the pattern.
fn explain(pattern: &str) -> SearchFailure {
    let (problem, offset) = match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), Some(error.span().start.offset)),
        Err(regex_syntax::Error::Translate(error)) => (error.kind().to_string(), Some(error.span().start.offset)),
        Err(_) => ("it is no regular expression".to_owned(), None),
        Ok(_) if pattern.contains('\n') || pattern.contains("\\n") => {
            ("a match lies within one line, so there can be no line end in it".to_owned(), None)
        }
        Ok(_) => ("it is too large when compiled".to_owned(), None),
    };
    let offset = offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or_default();
    SearchFailure::PatternInvalid { problem, offset }
}

/// Which files are searched.
pub(crate) struct Globs {
    wanted: Option<GlobSet>,
    unwanted: GlobSet,
}

impl Globs {
    /// Reads globs; one that begins with `!` leaves out what it matches. One without a `/`
    /// matches at any depth.
    pub(crate) fn new(globs: &[String]) -> Result<Globs, SearchFailure> {
        let (mut wanted, mut unwanted) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let mut any = false;
        for (index, text) in globs.iter().enumerate() {
            let (builder, text) = match text.strip_prefix('!') {
                Some(rest) => (&mut unwanted, rest),
                None => {
                    any = true;
                    (&mut wanted, text.as_str())
                }
            };
            let text = text.trim_start_matches("./");
            let anywhere = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
            let glob = GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|_| invalid(index))?;
            builder.add(glob);
        }
        let first = |_| invalid(0);
        Ok(Globs {
            wanted: if any { Some(wanted.build().map_err(first)?) } else { None },
            unwanted: unwanted.build().map_err(first)?,
        })
    }

    /// Whether a file is searched.
    pub(crate) fn take(&self, path: &WirePath) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.is_match(path.as_str()))
            && !self.unwanted.is_match(path.as_str())
    }

    /// Whether nothing in a folder is searched.
    pub(crate) fn leave_out(&self, folder: &WirePath) -> bool {
        self.unwanted.is_match(folder.as_str())
    }
}

fn invalid(index: usize) -> SearchFailure {
    SearchFailure::GlobInvalid { index: u64::try_from(index).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(globs: &[&str], path: &str) -> bool {
        let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
        Globs::new(&globs).unwrap().take(&WirePath::parse(path).unwrap())
    }

    #[test]
    fn a_glob_without_a_slash_matches_at_any_depth() {
        assert!(takes(&["*.rs"], "a/b/c.rs") && takes(&["a/**/*.rs"], "a/b/c.rs") && takes(&[], "a"));
        assert!(!takes(&["a/*.rs"], "a/b/c.rs") && !takes(&["*.rs", "!c.*"], "a/b/c.rs"));
        assert!(takes(&["!*.md"], "a.rs") && !takes(&["!*.md"], "a.md"));
    }

    #[test]
    fn an_expression_that_cannot_be_read_says_what_and_where() {
        for (pattern, words, at) in [("a(b", "unclosed group", 1), ("*", "repetition operator missing expression", 0)] {
            let Err(SearchFailure::PatternInvalid { problem, offset }) =
                expression(pattern, false, CaseSensitivity::Sensitive)
            else {
                panic!("{pattern} is wrong")
            };
            assert_eq!((problem.as_str(), offset), (words, at));
        }
        assert!(expression("a(b", true, CaseSensitivity::Smart).is_ok());
        assert!(matches!(
            expression(r"\w{5000}{5000}", false, CaseSensitivity::Sensitive),
            Err(SearchFailure::PatternInvalid { .. })
        ));
    }
}
