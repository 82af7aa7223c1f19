//! What exists and is near to what was written.

/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.75;
/// How many near names are worth showing.
const SHOWN: usize = 3;

/// The candidates nearest to `wanted`, nearest first.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let score = |candidate: &str| strsim::jaro_winkler(&wanted, &candidate.to_lowercase());
    let mut scored: Vec<(f64, &str)> = candidates.into_iter().map(|candidate| (score(candidate), candidate)).collect();
    scored.retain(|(score, _)| *score >= ALIKE);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(SHOWN).map(|(_, candidate)| candidate.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_is_near_and_a_stranger_is_not() {
        assert_eq!(nearest("lisen", ["listen", "root"]), ["listen"]);
        assert!(nearest("zzz", ["listen", "root"]).is_empty());
    }
}
