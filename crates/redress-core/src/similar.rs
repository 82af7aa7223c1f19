//! What exists and is near to what was asked for.

/// How many near names are worth showing.
pub(crate) const SHOWN: usize = 5;
/// How many candidates are looked at: a refusal must not cost more than a call.
const LOOKED_AT: usize = 4_096;
/// How many pairs of characters are compared: two names take as many as the one is long times the other.
const COMPARED: usize = 1 << 20;
/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.72;

/// The candidates nearest to `wanted`, nearest first.
pub(crate) fn nearest(wanted: &str, candidates: impl IntoIterator<Item = String>) -> Vec<String> {
    let folded = fold(wanted);
    let length = folded.chars().count();
    let mut left = COMPARED;
    let mut scored: Vec<(f64, String)> = candidates
        .into_iter()
        .take(LOOKED_AT)
        .filter_map(|candidate| {
            let other = fold(&candidate);
            left = left.saturating_sub(1 + length * other.chars().count());
            let score = if left > 0 { score(&folded, &other) } else { equality(&folded, &other) };
            (score >= ALIKE).then_some((score, candidate))
        })
        .collect();
    // The sort is stable, so equals keep the order in which they were given.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(SHOWN);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

fn fold(name: &str) -> String {
    name.chars().take(256).flat_map(char::to_lowercase).collect()
}

fn equality(wanted: &str, candidate: &str) -> f64 {
    f64::from(u8::from(wanted == candidate))
}

fn score(wanted: &str, candidate: &str) -> f64 {
    if wanted == candidate {
        1.0
    } else if !wanted.is_empty() && (candidate.contains(wanted) || wanted.contains(candidate)) && !candidate.is_empty()
    {
        0.95
    } else {
        strsim::jaro_winkler(wanted, candidate).min(0.94)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(wanted: &str, candidates: &[&str]) -> Vec<String> {
        nearest(wanted, candidates.iter().map(|name| (*name).to_owned()))
    }

    #[test]
    fn case_and_typing_mistakes_are_near_and_strangers_are_not() {
        assert_eq!(near("notes/a.md", &["notes/A.md", "zzz"]), ["notes/A.md"]);
        assert_eq!(near("files.raed", &["files.read", "users.list"])[0], "files.read");
        assert!(near("files.read", &["qqq", ""]).is_empty());
    }

    #[test]
    fn at_most_five_are_shown_nearest_first() {
        let found = near("file", &["file1", "file", "files", "file2", "file3", "file4", "file5"]);
        assert_eq!(found.len(), 5);
        assert_eq!(found[0], "file");
    }

    #[test]
    fn of_many_long_names_the_rest_is_only_compared_for_being_the_same() {
        let long = |n: usize| format!("{n:0>256}");
        let names: Vec<String> = (0..100).map(long).collect();
        let found = nearest(&long(99), names.iter().cloned());
        assert_eq!(found[0], long(99), "the last one is the same");
        assert!(found.iter().skip(1).all(|name| *name < long(17)), "{found:?}");
    }
}
