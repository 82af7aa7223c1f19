//! The word that was probably meant.

use std::fmt;

/// The one of `known` that is nearest to `word`, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let reach = (word.chars().count() / 3).max(1);
    let word = word.to_ascii_lowercase();
    known
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, _)| *distance <= reach)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A word that begins as another does is near to it, however long the rest.
fn distance(word: &str, candidate: &str) -> usize {
    let begins = word.len() >= 3 && (candidate.starts_with(word) || word.starts_with(candidate));
    if begins { 1 } else { strsim::damerau_levenshtein(word, candidate) }
}

/// Words in backticks, joined by commas.
pub(crate) struct BacktickList<'a>(pub(crate) &'a [&'a str]);

impl fmt::Display for BacktickList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, word) in self.0.iter().enumerate() {
            write!(f, "{}`{word}`", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_near_and_another_word_is_not() {
        let words = ["kind", "message", "recover", "not_found"];
        for (given, meant) in
            [("knid", Some("kind")), ("recovery", Some("recover")), ("notfound", Some("not_found")), ("stop", None)]
        {
            assert_eq!(nearest(given, words), meant, "{given}");
        }
    }
}
