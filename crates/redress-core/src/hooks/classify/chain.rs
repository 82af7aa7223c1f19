//! An error and everything it was caused by, and what they say.

use std::{error::Error, fmt, fmt::Write as _, io, iter};

/// How many errors of a chain are looked at. A chain that leads back into itself ends
/// here too.
pub(super) const DEPTH: usize = 20;

/// How many bytes of an error's text are read.
pub(super) const TEXT: usize = 4096;

/// `error` and everything it was caused by, outermost first.
pub(crate) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |error| cause(*error)).take(DEPTH)
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    // The source of an `io::Error` is the source of the error it wraps, so the wrapped one
    // itself would be passed over.
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// Writes what `error` says over `text`, as far as it is read at all.
pub(crate) fn write_text(error: &(dyn Error + 'static), text: &mut String) {
    text.clear();
    if write!(Cut(text), "{error}").is_err() && text.len() + char::MAX.len_utf8() > TEXT {
        // What is left of the last word is not a word: `invalidated` must not end as `invalid`.
        let whole = text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
        text.truncate(whole);
    }
}

/// A text that stops its writer once it is full.
struct Cut<'a>(&'a mut String);

impl fmt::Write for Cut<'_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let end = more.floor_char_boundary(TEXT.saturating_sub(self.0.len()));
        let (fits, rest) = more.split_at(end);
        self.0.push_str(fits);
        if rest.is_empty() { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::classify::foreign::{Foreign, Ring};

    fn text_of(said: impl Into<String>) -> String {
        let mut text = "what was there before".to_owned();
        write_text(&Foreign::new(said), &mut text);
        text
    }

    #[test]
    fn at_most_twenty_errors_are_looked_at() {
        let deep = (0..50).fold(Foreign::new("bottom"), |cause, _| Foreign::new("above").caused_by(cause));
        assert_eq!(chain(&deep).count(), DEPTH);
        assert_eq!(chain(&Foreign::new("alone")).count(), 1);
    }

    #[test]
    fn a_chain_that_leads_back_into_itself_ends() {
        assert_eq!(chain(&Ring).count(), DEPTH);
    }

    #[test]
    fn an_error_wrapped_in_an_io_error_is_not_passed_over() {
        let inner = Foreign::new("inner").caused_by(Foreign::new("innermost"));
        let texts: Vec<String> = chain(&io::Error::other(inner)).map(ToString::to_string).collect();
        assert_eq!(texts, ["inner", "inner", "innermost"]);
    }

    #[test]
    fn a_long_text_is_cut_at_a_whole_word() {
        assert_eq!(text_of("short"), "short");
        assert_eq!(text_of("x ".repeat(TEXT / 2)).len(), TEXT);
        assert_eq!(text_of(format!("{} invalidated", "x".repeat(TEXT - 8))), format!("{} ", "x".repeat(TEXT - 8)));
        assert_eq!(text_of("ä".repeat(TEXT)), "");
        let euros = text_of("€".repeat(TEXT));
        assert!(euros.len() <= TEXT && euros.chars().all(|c| c == '€'));
    }
}
