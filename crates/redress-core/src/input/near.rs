//! The known word that a caller most likely meant.

use strsim::{damerau_levenshtein, jaro_winkler};

/// A known word close to the one that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Near<'a> {
    /// The known word.
    pub(super) word: &'a str,
    /// Whether it is the only one this close, and close enough to act on.
    pub(super) certain: bool,
}

/// The known word nearest to `sent`.
///
/// A word that differs only in case or in how its parts are joined (`userId`, `user-id`, `user_id`) comes
/// first, then one with few typing mistakes, then one that begins alike.
pub(super) fn nearest<'a>(sent: &str, known: impl IntoIterator<Item = &'a str>) -> Option<Near<'a>> {
    // The distances take time in proportion to both lengths, and nobody mistypes a word this long.
    const LONGEST: usize = 64;
    let sent = fold(sent);
    let length = sent.chars().count();
    if length == 0 || length > LONGEST {
        return None;
    }
    let known: Vec<(&str, String)> =
        known.into_iter().filter(|word| word.len() <= 4 * LONGEST).map(|word| (word, fold(word))).collect();
    let mut mistakes: Vec<(usize, &str)> =
        known.iter().map(|(word, folded)| (damerau_levenshtein(&sent, folded), *word)).collect();
    mistakes.sort_by_key(|(distance, _)| *distance);
    let (distance, word) = *mistakes.first()?;
    let alone = mistakes.get(1).is_none_or(|(second, _)| *second > distance);
    let allowed = (length / 3).clamp(1, 2);
    if distance <= allowed && (distance == 0 || length > 1) {
        return Some(Near { word, certain: alone });
    }
    alike(&sent, &known).map(|word| Near { word, certain: false })
}

fn alike<'a>(sent: &str, known: &[(&'a str, String)]) -> Option<&'a str> {
    const ENOUGH: f64 = 0.85;
    const STEM: usize = 3;
    let cut_short = known.iter().find(|(_, folded)| {
        let (short, long) = if folded.len() < sent.len() { (folded.as_str(), sent) } else { (sent, folded.as_str()) };
        short.len() >= STEM && long.starts_with(short)
    });
    if let Some((word, _)) = cut_short {
        return Some(word);
    }
    known
        .iter()
        .map(|(word, folded)| (jaro_winkler(sent, folded), *word))
        .filter(|(likeness, _)| *likeness >= ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, word)| word)
}

/// The word without case and joints.
fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(sent: &str, known: &[&str], expected: Option<(&str, bool)>) {
        let found = nearest(sent, known.iter().copied()).map(|near| (near.word, near.certain));
        assert_eq!(found, expected, "{sent}");
    }

    #[test]
    fn a_word_joined_otherwise_is_certain() {
        assert_near("userId", &["user_id", "user"], Some(("user_id", true)));
        assert_near("USER-ID", &["user_id"], Some(("user_id", true)));
    }

    #[test]
    fn one_typing_mistake_is_certain_when_nothing_else_is_as_close() {
        assert_near("acs", &["asc", "desc"], Some(("asc", true)));
        assert_near("limt", &["limit", "offset"], Some(("limit", true)));
        assert_near("cat", &["bat", "car"], Some(("bat", false)));
    }

    #[test]
    fn a_word_that_begins_alike_is_near_but_not_certain() {
        assert_near("ascending", &["asc", "desc"], Some(("asc", false)));
    }

    #[test]
    fn a_word_of_its_own_has_no_neighbour() {
        assert_near("zebra", &["limit", "path"], None);
        assert_near("x", &["y"], None);
        assert_near("", &["y"], None);
        assert_near(&"a".repeat(10_000), &["a"], None);
    }
}
