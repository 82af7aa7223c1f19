//! Finding tools by words: names, summaries, descriptions, tags and codes.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap},
};

use redress_contract::OperationDeclaration;

/// How near two words have to be to count as one that was mistyped.
const NEAR: f64 = 0.88;
/// How much of a match in a name counts when the word is only its beginning, or only near.
const PREFIX: f64 = 0.6;
const TYPO: f64 = 0.4;
/// How many words of a query are looked for. Likeness costs the product of two lengths, so it is asked of no word that
/// is longer than names are.
const MAX_WORDS: usize = 32;
const MAX_LENGTH: usize = 64;

/// What can be searched for, made once for each set of tools.
#[derive(Debug)]
pub(crate) struct Index {
    /// Every word, with the tools that have it and the weight of the best place in which it stands in each.
    words: BTreeMap<String, Vec<(usize, f64)>>,
    /// The names as they are called, for what is near to a wrong one.
    names: Vec<String>,
}

impl Index {
    pub(crate) fn of<'a>(operations: impl Iterator<Item = &'a OperationDeclaration>) -> Index {
        let mut index = Index { words: BTreeMap::new(), names: Vec::new() };
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
            for (word, weight) in weights {
                index.words.entry(word).or_default().push((index.names.len(), weight));
            }
            index.names.push(operation.tool_name());
        }
        index
    }

    /// The places of the tools that fit `query`, the best first, with how well they do.
    pub(crate) fn search(&self, query: &str) -> Vec<(usize, f64)> {
        self.search_counted(query, &Cell::new(0))
    }

    /// The same. `steps` counts how many words and places are looked at.
    fn search_counted(&self, query: &str, steps: &Cell<usize>) -> Vec<(usize, f64)> {
        let step = || steps.set(steps.get() + 1);
        let mut scores: Vec<f64> = vec![0.0; self.names.len()];
        for asked in words(query).take(MAX_WORDS) {
            let mut best: HashMap<usize, f64> = HashMap::new();
            for (stands, worth) in self.meant(&asked, step) {
                for (place, weight) in stands {
                    step();
                    let held = best.entry(*place).or_default();
                    *held = held.max(weight * worth);
                }
            }
            for (place, best) in best {
                if let Some(score) = scores.get_mut(place) {
                    *score += best;
                }
            }
        }
        let mut found: Vec<(usize, f64)> = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        let name = |place: usize| self.names.get(place).map(String::as_str).unwrap_or_default();
        found.sort_by(|(one, left), (other, right)| right.total_cmp(left).then_with(|| name(*one).cmp(name(*other))));
        found
    }

    /// Where the words stand that `asked` may mean, with what a match of each is worth: rare ones tell
    /// more, and what only begins or looks like it tells less.
    fn meant(&self, asked: &str, step: impl Fn()) -> Vec<(&[(usize, f64)], f64)> {
        let worth = |stands: &[(usize, f64)]| (1.0 + self.names.len() as f64 / stands.len() as f64).ln();
        let begins = self.words.range(asked.to_owned()..).take_while(|(word, _)| word.starts_with(asked));
        let mut meant: Vec<(&[(usize, f64)], f64)> = begins
            .inspect(|_| step())
            .map(|(word, stands)| (stands.as_slice(), if word == asked { 1.0 } else { PREFIX } * worth(stands)))
            .collect();
        if meant.is_empty() && (4..=MAX_LENGTH).contains(&asked.len()) {
            let known = self.words.iter().filter(|(word, _)| word.len() <= MAX_LENGTH).inspect(|_| step());
            let near = known.filter(|(word, _)| strsim::jaro_winkler(word, asked) >= NEAR);
            meant.extend(near.map(|(_, stands)| (stands.as_slice(), TYPO * worth(stands))));
        }
        meant
    }

    /// The names nearest to a wrong one, the nearest first.
    pub(crate) fn near(&self, name: &str) -> Vec<String> {
        near(name, self.names.iter().map(String::as_str))
    }
}

/// Those of `names` that are nearest to a wrong one, the nearest first. Likeness costs the product of two lengths, and
/// what is much longer than every name is like none.
pub(crate) fn near<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    near_counted(wrong, names, &Cell::new(0))
}

/// The same. `steps` counts the product of the lengths that are compared.
fn near_counted<'a>(wrong: &str, names: impl Iterator<Item = &'a str>, steps: &Cell<usize>) -> Vec<String> {
    let likely = |name: &&str| wrong.len() <= 2 * name.len() + MAX_LENGTH && wrong.len() <= 8 * MAX_LENGTH;
    let wanted = if wrong.len() <= 8 * MAX_LENGTH { wrong.replace('.', "_") } else { String::new() };
    let likeness = |name: &'a str| {
        steps.set(steps.get() + name.len() * wanted.len());
        (strsim::jaro_winkler(name, &wanted), name)
    };
    let mut near: Vec<(f64, &str)> =
        names.filter(likely).map(likeness).filter(|(likeness, _)| *likeness >= 0.8).collect();
    near.sort_by(|(left, one), (right, other)| right.total_cmp(left).then_with(|| one.cmp(other)));
    near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
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
    use redress_contract::{FailureDeclaration, Kind};

    fn operations() -> Vec<OperationDeclaration> {
        vec![
            OperationDeclaration::query("files.read").with_summary("Read a text file."),
            OperationDeclaration::query("files.list").with_summary("List the files of a folder."),
            OperationDeclaration::mutation("files.remove")
                .with_summary("Take a file away.")
                .fails(FailureDeclaration::new("FILE_NOT_EMPTY", Kind::Conflict).with_when("The folder is not empty.")),
            OperationDeclaration::mutation("orders.refund").with_summary("Give the money of an order back."),
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

    /// As many tools as a large service has, and some of their words.
    fn many(count: usize) -> Index {
        let named = |number: usize| {
            OperationDeclaration::query(&format!("group{}.action{number}", number % 17))
                .with_summary("Do something useful with it.")
        };
        let operations: Vec<OperationDeclaration> = (0..count).map(named).collect();
        Index::of(operations.iter())
    }

    #[test]
    fn a_search_costs_no_more_than_so_many_words_of_its_query() {
        let index = many(200);
        let steps = |query: &str| {
            let steps = Cell::new(0);
            index.search_counted(query, &steps);
            steps.get()
        };
        for word in ["something ", "zzzzqqqq ", "ac ", "group1 ", "actionn1 "] {
            let (at, beyond) = (steps(&word.repeat(MAX_WORDS)), steps(&word.repeat(MAX_WORDS * 64)));
            assert_eq!(at, beyond, "{word}");
            assert!(at <= MAX_WORDS * 4 * (index.words.len() + 200 * 8), "{word}: {at}");
        }
        assert_eq!(steps(&"q".repeat(MAX_LENGTH + 1)), 0, "what is longer than any name is like none");
    }

    #[test]
    fn what_is_near_to_a_wrong_name_costs_no_more_for_a_longer_one() {
        let index = many(200);
        let steps = |length: usize| {
            let steps = Cell::new(0);
            near_counted(&"a".repeat(length), index.names.iter().map(String::as_str), &steps);
            steps.get()
        };
        assert!(steps(20) > 0 && steps(40) <= 2 * steps(20));
        for length in [1_000, 4_000, 1_000_000] {
            assert_eq!(steps(length), 0);
        }
    }

    #[test]
    fn a_wrong_name_has_near_ones() {
        let operations = operations();
        let near = Index::of(operations.iter()).near("files.raed");
        assert_eq!((near[0].as_str(), near.contains(&"orders_refund".to_owned())), ("files_read", false));
    }
}
