//! Finding tools by words: names, summaries, descriptions, tags and codes.

use std::collections::{BTreeMap, HashMap};

use redress_contract::Operation;

/// How near two words have to be to count as one that was mistyped.
const NEAR: f64 = 0.88;
/// How much of a match in a name counts when the word is only its beginning, or only near.
const PREFIX: f64 = 0.6;
const TYPO: f64 = 0.4;

/// What can be searched for, made once for each set of tools.
#[derive(Debug)]
pub(crate) struct Index {
    /// The words of each tool, with the weight of the best place in which each stands.
    tools: Vec<HashMap<String, f64>>,
    /// Every word, with the number of tools that have it.
    words: BTreeMap<String, usize>,
    /// The names as they are called, for what is near to a wrong one.
    names: Vec<String>,
}

impl Index {
    pub(crate) fn of<'a>(operations: impl Iterator<Item = &'a Operation>) -> Index {
        let mut index = Index { tools: Vec::new(), words: BTreeMap::new(), names: Vec::new() };
        for operation in operations {
            let mut weights: HashMap<String, f64> = HashMap::new();
            let mut note = |text: &str, weight: f64| {
                for word in words(text) {
                    let held = weights.entry(word).or_insert(weight);
                    *held = held.max(weight);
                }
            };
            let names = [operation.name()].into_iter().chain(operation.aliases());
            names.for_each(|name| note(name.as_str(), 8.0));
            operation.tags().iter().for_each(|tag| note(tag, 4.0));
            note(operation.summary(), 4.0);
            for failure in operation.failures() {
                note(failure.code().as_str(), 3.0);
                note(failure.when(), 1.0);
            }
            note(operation.description(), 2.0);
            operation.input().properties().for_each(|member| note(member, 2.0));
            for word in weights.keys() {
                *index.words.entry(word.clone()).or_default() += 1;
            }
            index.tools.push(weights);
            index.names.push(operation.tool_name());
        }
        index
    }

    /// The places of the tools that fit `query`, the best first, with how well they do.
    pub(crate) fn search(&self, query: &str) -> Vec<(usize, f64)> {
        let mut scores = vec![0.0; self.tools.len()];
        for asked in words(query) {
            let meant = self.meant(&asked);
            for (score, weights) in scores.iter_mut().zip(&self.tools) {
                let best = meant.iter().filter_map(|(word, worth)| Some(weights.get(*word)? * worth));
                *score += best.fold(0.0, f64::max);
            }
        }
        let mut found: Vec<(usize, f64)> = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        let name = |place: usize| self.names.get(place).map(String::as_str).unwrap_or_default();
        found.sort_by(|(one, left), (other, right)| right.total_cmp(left).then_with(|| name(*one).cmp(name(*other))));
        found
    }

    /// The words that `asked` may stand for, with what a match of each is worth: rare ones tell
    /// more, and what only begins or looks like it tells less.
    fn meant(&self, asked: &str) -> Vec<(&str, f64)> {
        let rarity = |count: usize| (1.0 + self.tools.len() as f64 / count as f64).ln();
        let exact = self.words.get_key_value(asked).map(|(word, count)| (word.as_str(), rarity(*count)));
        let begins = self
            .words
            .range(asked.to_owned()..)
            .take_while(|(word, _)| word.starts_with(asked))
            .skip_while(|(word, _)| *word == asked);
        let mut meant: Vec<(&str, f64)> = exact.into_iter().collect();
        meant.extend(begins.map(|(word, count)| (word.as_str(), PREFIX * rarity(*count))));
        if meant.is_empty() && asked.len() > 3 {
            let near = self.words.iter().filter(|(word, _)| strsim::jaro_winkler(word, asked) >= NEAR);
            meant.extend(near.map(|(word, count)| (word.as_str(), TYPO * rarity(*count))));
        }
        meant
    }

    /// The names nearest to a wrong one, the nearest first.
    pub(crate) fn near(&self, name: &str) -> Vec<String> {
        let wanted = name.replace('.', "_");
        let mut near: Vec<(f64, &String)> =
            self.names.iter().map(|known| (strsim::jaro_winkler(known, &wanted), known)).collect();
        near.retain(|(likeness, _)| *likeness >= 0.8);
        near.sort_by(|(left, one), (right, other)| right.total_cmp(left).then_with(|| one.cmp(other)));
        near.into_iter().take(3).map(|(_, name)| name.clone()).collect()
    }
}

/// The words of a text, in lower case, without the plural's ending.
fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 1);
    parts.map(|part| {
        let word = part.to_lowercase();
        match word.strip_suffix('s') {
            Some(one) if one.len() > 2 && !one.ends_with('s') => one.to_owned(),
            Some(_) | None => word,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use redress_contract::{Failure, Kind};

    fn operations() -> Vec<Operation> {
        vec![
            Operation::query("files.read").with_summary("Read a text file."),
            Operation::query("files.list").with_summary("List the files of a folder."),
            Operation::mutation("files.remove")
                .with_summary("Take a file away.")
                .fails(Failure::new("FILE_NOT_EMPTY", Kind::Conflict).with_when("The folder is not empty.")),
            Operation::mutation("orders.refund").with_summary("Give the money of an order back."),
        ]
    }

    fn found(query: &str) -> Vec<String> {
        let operations = operations();
        let index = Index::of(operations.iter());
        index.search(query).into_iter().map(|(place, _)| operations[place].name().to_string()).collect()
    }

    #[test]
    fn names_go_before_summaries_and_codes_are_found_too() {
        assert_eq!(found("read file")[0], "files.read");
        assert_eq!(found("money"), ["orders.refund"]);
        assert_eq!(found("FILE_NOT_EMPTY")[0], "files.remove");
        assert_eq!(found("refnd"), ["orders.refund"]);
        assert_eq!(found("remov")[0], "files.remove");
        assert!(found("").is_empty() && found("zzz").is_empty());
    }

    #[test]
    fn a_wrong_name_has_near_ones() {
        let operations = operations();
        let near = Index::of(operations.iter()).near("files.raed");
        assert_eq!((near[0].as_str(), near.contains(&"orders_refund".to_owned())), ("files_read", false));
    }
}
