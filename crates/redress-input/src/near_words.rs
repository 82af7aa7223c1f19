//! The known word that a caller most likely meant.

use strsim::{jaro_winkler, osa_distance};

use super::budget::StepBudget;

/// How many known words are looked at.
pub(super) const CANDIDATES: usize = 4096;

/// A known word close to the one that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NearWord<'a> {
    /// The known word.
    pub(super) word: &'a str,
    /// Whether it is the only one this close, and close enough to act on.
    pub(super) certain: bool,
}

/// A known word, made ready for comparing.
struct Candidate<'a> {
    word: &'a str,
    folded: String,
    length: usize,
    letters: u64,
}

impl<'a> Candidate<'a> {
    fn of(word: &'a str) -> Self {
        let folded = fold(word);
        let length = folded.chars().count();
        let letters = letters(&folded);
        Self { word, folded, length, letters }
    }

    /// Whether more mistakes than `allowed` lie between the two, as far as that can be told at a glance:
    /// each mistake makes up for at most one letter, and for one in length.
    fn is_far(&self, other: &Self, allowed: usize) -> bool {
        let strange = |a: u64, b: u64| usize::try_from((a & !b).count_ones()).unwrap_or(usize::MAX);
        self.length.abs_diff(other.length) > allowed
            || strange(self.letters, other.letters) > allowed
            || strange(other.letters, self.letters) > allowed
    }

    /// The steps that a comparison with `other` takes.
    fn cost(&self, other: &Self) -> u64 {
        u64::try_from(1 + self.length * other.length / 16).unwrap_or(u64::MAX)
    }
}

/// The known word nearest to `sent`.
///
/// A word that differs only in case or in how its parts are joined (`userId`, `user-id`, `user_id`) comes
/// first, then one with few typing mistakes, then one that begins alike. When the budget ends, there is none.
pub(super) fn nearest<'a>(
    sent: &str,
    known: impl IntoIterator<Item = &'a str>,
    budget: &StepBudget<'_>,
) -> Option<NearWord<'a>> {
    // A comparison takes time in proportion to both lengths, and nobody mistypes a word this long.
    const MAX_LENGTH: usize = 64;
    if sent.len() > 4 * MAX_LENGTH {
        return None;
    }
    let sent = Candidate::of(sent);
    if sent.length == 0 || sent.length > MAX_LENGTH {
        return None;
    }
    let mut known = known.into_iter();
    let mut candidates = Vec::new();
    for word in known.by_ref().take(CANDIDATES).filter(|word| word.len() <= 4 * MAX_LENGTH) {
        if !budget.spend(1 + u64::try_from(word.len() / 16).unwrap_or(u64::MAX)) {
            return None;
        }
        candidates.push(Candidate::of(word));
    }
    let all = known.next().is_none();
    let allowed = (sent.length / 3).clamp(1, 2);
    let mut best: Option<(usize, &str)> = None;
    let mut alone = true;
    for candidate in candidates.iter().filter(|candidate| !candidate.is_far(&sent, allowed)) {
        if !budget.spend(candidate.cost(&sent)) {
            return None;
        }
        let distance = osa_distance(&sent.folded, &candidate.folded);
        match best {
            Some((min, _)) if distance > min => {}
            Some((min, _)) if distance == min => alone = false,
            Some(_) | None => {
                best = Some((distance, candidate.word));
                alone = true;
            }
        }
    }
    if let Some((distance, word)) = best
        && distance <= allowed
        && (distance == 0 || sent.length > 1)
    {
        return Some(NearWord { word, certain: alone && all });
    }
    alike(&sent, &candidates, budget).map(|word| NearWord { word, certain: false })
}

fn alike<'a>(sent: &Candidate<'_>, known: &[Candidate<'a>], budget: &StepBudget<'_>) -> Option<&'a str> {
    const ENOUGH: f64 = 0.85;
    const STEM: usize = 3;
    let cut_short = known.iter().find(|candidate| {
        let (a, b) = (sent.folded.as_str(), candidate.folded.as_str());
        let (short, long) = if b.len() < a.len() { (b, a) } else { (a, b) };
        short.len() >= STEM && long.starts_with(short)
    });
    if let Some(candidate) = cut_short {
        return Some(candidate.word);
    }
    let mut best: Option<(f64, &str)> = None;
    for candidate in known {
        if !budget.spend(candidate.cost(sent)) {
            return None;
        }
        let likeness = jaro_winkler(&sent.folded, &candidate.folded);
        if likeness >= ENOUGH && best.is_none_or(|(max, _)| likeness >= max) {
            best = Some((likeness, candidate.word));
        }
    }
    best.map(|(_, word)| word)
}

/// The word without case and joints.
fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The letters of a word as a set, letters 64 apart being taken for one.
fn letters(word: &str) -> u64 {
    word.chars().fold(0, |set, c| set | 1 << (u32::from(c) % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(sent: &str, known: &[&str], expected: Option<(&str, bool)>) {
        let found = nearest(sent, known.iter().copied(), &StepBudget::new(10_000, &|| false))
            .map(|near| (near.word, near.certain));
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

    #[test]
    fn among_more_words_than_are_looked_at_none_is_certain() {
        let known: Vec<String> =
            std::iter::once("limit".to_owned()).chain((0..CANDIDATES).map(|n| n.to_string())).collect();
        let budget = StepBudget::new(1_000_000, &|| false);
        let near = nearest("limt", known.iter().map(String::as_str), &budget);
        assert_eq!(near.map(|near| (near.word, near.certain)), Some(("limit", false)));
    }

    #[test]
    fn a_comparison_that_nobody_pays_for_finds_nothing() {
        let budget = StepBudget::new(3, &|| false);
        assert_eq!(nearest("limt", ["limit", "path", "offset", "range"], &budget), None);
    }
}
