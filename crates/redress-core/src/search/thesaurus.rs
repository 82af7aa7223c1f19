//! Words that people and documents use for the same thing.

use std::{collections::HashMap, sync::LazyLock};

use super::words::stem;

const GROUPS: &str = include_str!("thesaurus.txt");

/// The stems that are said for `stemmed` too, each once.
pub(super) fn others(stemmed: &str) -> &'static [String] {
    static BY_WORD: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
        let mut by_word: HashMap<String, Vec<String>> = HashMap::new();
        for group in groups() {
            let stems: Vec<String> = group.split_whitespace().map(stem).collect();
            for word in &stems {
                let others = by_word.entry(word.clone()).or_default();
                for other in stems.iter().filter(|other| *other != word) {
                    if !others.contains(other) {
                        others.push(other.clone());
                    }
                }
            }
        }
        by_word
    });
    BY_WORD.get(stemmed).map_or(&[], Vec::as_slice)
}

fn groups() -> impl Iterator<Item = &'static str> {
    GROUPS.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_small_and_name_no_word_twice() {
        for group in groups() {
            let mut stems: Vec<String> = group.split_whitespace().map(stem).collect();
            let count = stems.len();
            stems.sort();
            stems.dedup();
            assert!(count == stems.len() && (2..=12).contains(&count), "{group}");
            assert!(stems.iter().all(|word| others(word).len() <= 24), "{group}");
        }
        assert!(others(&stem("deleting")).contains(&stem("remove")));
        assert!(others("zzz").is_empty());
    }
}
