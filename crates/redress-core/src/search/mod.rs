//! Finding operations by what they do: BM25 over their names, texts, parameters and failure codes.
//!
//! Why so: docs/decisions/0140-a-search-of-our-own.md.

mod action;
mod thesaurus;
mod words;

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap},
};

use redress_contract::{OperationDeclaration, Schema};
use serde_json::Value;

use self::{
    action::SearchAction,
    words::{telling, words},
};

/// How near two words have to be to count as one that was mistyped.
const NEAR: f64 = 0.88;
/// What a word counts that is only meant: another word for it, one that begins as it does, one that looks like it.
const MEANT: f64 = 0.45;
const BEGINS: f64 = 0.5;
const LOOKS: f64 = 0.4;
/// How many words of a question are looked for. Likeness costs the product of two lengths, so it is asked of no word that
/// is longer than names are.
const MAX_WORDS: usize = 32;
const MAX_LENGTH: usize = 64;
/// How many words that begin alike are looked at for one of a question.
const MAX_ALIKE: usize = 64;
/// How many words of one text are read.
const MAX_TEXT: usize = 150;
/// How soon more of the same word counts no more, as BM25 has it.
const SATURATION: f64 = 1.6;
/// How much it counts that many words of the question were found, and not one of them often.
const COVERAGE: f64 = 1.5;

/// A part of a declaration: what a word counts there, and how much less in a longer one.
#[derive(Clone, Copy, Debug)]
struct IndexedField {
    weight: f64,
    normalization: f64,
    read: fn(&OperationDeclaration) -> Vec<String>,
}

/// Everything that is searched.
const FIELDS: [IndexedField; 6] = [
    IndexedField { weight: 5.0, normalization: 0.75, read: names },
    IndexedField {
        weight: 5.0,
        normalization: 0.75,
        read: |operation| words(operation.summary()).take(MAX_TEXT).collect(),
    },
    IndexedField {
        weight: 1.5,
        normalization: 0.8,
        read: |operation| words(operation.description()).take(MAX_TEXT).collect(),
    },
    IndexedField {
        weight: 0.7,
        normalization: 0.8,
        read: |operation| operation.input().properties().flat_map(words).collect(),
    },
    IndexedField { weight: 0.3, normalization: 0.8, read: parameters },
    IndexedField { weight: 0.5, normalization: 0.7, read: failures },
];

fn names(operation: &OperationDeclaration) -> Vec<String> {
    let names = [operation.name()].into_iter().chain(operation.aliases()).flat_map(|name| words(name.as_str()));
    names.chain(operation.tags().iter().flat_map(|tag| words(tag))).collect()
}

/// What is said of the members of the input, and the values that they may have.
fn parameters(operation: &OperationDeclaration) -> Vec<String> {
    let input: &Schema = operation.input();
    let members = input.properties().filter_map(|name| input.property(name));
    let said = members.flat_map(|member| {
        let text = member.get("description").and_then(Value::as_str);
        let values = member.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        text.into_iter().chain(values).flat_map(|text| words(text).take(MAX_TEXT)).collect::<Vec<_>>()
    });
    said.take(20 * MAX_TEXT).collect()
}

fn failures(operation: &OperationDeclaration) -> Vec<String> {
    let said =
        operation.failures().iter().flat_map(|failure| words(failure.code().as_str()).chain(words(failure.when())));
    said.take(4 * MAX_TEXT).collect()
}

/// What can be searched for among some operations: made once, and asked often.
///
/// ```
/// use redress_core::{OperationIndex, contract::OperationDeclaration};
///
/// let operations = [
///     OperationDeclaration::mutation("orders.refund").with_summary("Give the money of an order back."),
///     OperationDeclaration::query("orders.list").with_summary("List all orders."),
/// ];
/// let index = OperationIndex::of(operations.iter());
/// assert_eq!(index.search("refunding somebody's money")[0].0, 0);
/// ```
#[derive(Debug)]
pub struct OperationIndex {
    /// Every word, with the places of the operations that have it, and how much of it each has.
    words: BTreeMap<String, Vec<(usize, f64)>>,
    /// What each operation is called, and what it does.
    operations: Vec<(String, SearchAction)>,
}

impl OperationIndex {
    /// Reads `operations`; their places are what a search gives.
    pub fn of<'a>(operations: impl Iterator<Item = &'a OperationDeclaration>) -> OperationIndex {
        let mut index = OperationIndex { words: BTreeMap::new(), operations: Vec::new() };
        let mut read: Vec<[Vec<String>; FIELDS.len()]> = Vec::new();
        for operation in operations {
            read.push(FIELDS.map(|field| (field.read)(operation)));
            index.operations.push((operation.tool_name(), SearchAction::of(operation)));
        }
        let mut average = [0.0; FIELDS.len()];
        for texts in &read {
            for (sum, text) in average.iter_mut().zip(texts) {
                *sum += text.len() as f64 / read.len() as f64;
            }
        }
        for (place, texts) in read.into_iter().enumerate() {
            let mut held: HashMap<String, f64> = HashMap::new();
            for ((field, average), text) in FIELDS.iter().zip(average).zip(texts) {
                let length = text.len() as f64 / f64::max(average, 1.0);
                let counts = field.weight / (1.0 - field.normalization + field.normalization * length);
                for word in text {
                    *held.entry(word).or_default() += counts;
                }
            }
            for (word, counts) in held {
                index.words.entry(word).or_default().push((place, counts));
            }
        }
        index
    }

    /// The places of the operations that fit `question`, the best first, with how well they do.
    pub fn search(&self, question: &str) -> Vec<(usize, f64)> {
        self.search_counted(question, &Cell::new(0))
    }

    /// The same. `steps` counts how many words and places are looked at.
    fn search_counted(&self, question: &str, steps: &Cell<usize>) -> Vec<(usize, f64)> {
        let asked = telling(question);
        let asked = asked.get(..MAX_WORDS).unwrap_or(&asked);
        let mut scores = vec![(0.0, 0_usize); self.operations.len()];
        let mut best = vec![0.0; self.operations.len()];
        for word in asked {
            for (places, worth) in self.meant(word, steps) {
                let rare = self.rarity(places);
                for (place, counts) in places {
                    steps.set(steps.get() + 1);
                    if let Some(best) = best.get_mut(*place) {
                        *best = f64::max(*best, worth * rare * counts * (SATURATION + 1.0) / (counts + SATURATION));
                    }
                }
            }
            for ((score, found), best) in scores.iter_mut().zip(&mut best) {
                *score += *best;
                *found += usize::from(*best > 0.0);
                *best = 0.0;
            }
        }
        let wanted = SearchAction::wanted(question);
        let all = asked.len().max(1) as f64;
        let mut found: Vec<(usize, f64)> = Vec::new();
        for (place, ((score, matched), (_, action))) in scores.into_iter().zip(&self.operations).enumerate() {
            if score > 0.0 {
                found.push((place, score * (1.0 + COVERAGE * matched as f64 / all) * action.fits(wanted)));
            }
        }
        // Of two that fit alike, the one with the shorter name is about fewer things.
        let name = |place: usize| self.operations.get(place).map(|(name, _)| (name.len(), name.as_str()));
        found.sort_by(|(one, left), (other, right)| right.total_cmp(left).then_with(|| name(*one).cmp(&name(*other))));
        found
    }

    /// How much a word tells that this many operations have.
    fn rarity(&self, places: &[(usize, f64)]) -> f64 {
        let (all, have) = (self.operations.len() as f64, places.len() as f64);
        (1.0 + (all - have + 0.5) / (have + 0.5)).ln()
    }

    /// Where the words stand that `asked` may mean, with what a match of each is worth.
    fn meant(&self, asked: &str, steps: &Cell<usize>) -> Vec<(&[(usize, f64)], f64)> {
        let step = || steps.set(steps.get() + 1);
        let mut meant: Vec<(&[(usize, f64)], f64)> = Vec::new();
        let mut take = |word: &str, worth: f64| {
            step();
            meant.extend(self.words.get(word).map(|places| (places.as_slice(), worth)));
        };
        take(asked, 1.0);
        thesaurus::others(asked).iter().for_each(|other| take(other, MEANT));
        let letters = asked.chars().count();
        // Of a long word the beginning is enough: `vulnerable` is in `vulnerability`.
        let begins: String =
            asked.chars().take(if letters >= 5 { usize::max(5, letters - 3) } else { letters }).collect();
        if letters >= 3 {
            let alike = self.words.range(begins.clone()..).take_while(|(word, _)| word.starts_with(&begins));
            for (word, places) in alike.take(MAX_ALIKE).inspect(|_| step()) {
                if word != asked && (letters < 5 || word.chars().count().abs_diff(letters) <= 5) {
                    meant.push((places.as_slice(), BEGINS));
                }
            }
        }
        if meant.is_empty() && (4..=MAX_LENGTH).contains(&asked.len()) {
            let known = self.words.iter().filter(|(word, _)| word.len() <= MAX_LENGTH).inspect(|_| step());
            let near = known.filter(|(word, _)| strsim::jaro_winkler(word, asked) >= NEAR);
            meant.extend(near.map(|(_, places)| (places.as_slice(), LOOKS)));
        }
        meant
    }
}

#[cfg(test)]
mod tests {
    use redress_contract::{FailureDeclaration, Kind};
    use serde_json::json;

    use super::*;

    fn operations() -> Vec<OperationDeclaration> {
        let state = json!({"type": "object", "properties": {
            "state": {"type": "string", "description": "Whether it is open.", "enum": ["open", "closed"]},
        }});
        vec![
            OperationDeclaration::query("files.read").with_summary("Read a text file."),
            OperationDeclaration::query("files.list").with_summary("List the files of a folder."),
            OperationDeclaration::mutation("files.remove")
                .with_summary("Take a file away.")
                .fails(FailureDeclaration::new("FILE_NOT_EMPTY", Kind::Conflict).with_when("The folder is not empty.")),
            OperationDeclaration::mutation("orders.refund").with_summary("Give the money of an order back."),
            OperationDeclaration::mutation("tickets.update").with_summary("Edit a ticket.").with_input(state),
        ]
    }

    fn found(query: &str) -> Vec<String> {
        let operations = operations();
        let index = OperationIndex::of(operations.iter());
        index.search(query).into_iter().map(|(place, _)| operations[place].name().to_string()).collect()
    }

    #[test]
    fn names_summaries_parameters_values_and_codes_are_found() {
        assert_eq!(found("read file")[0], "files.read");
        assert_eq!(found("money"), ["orders.refund"]);
        assert_eq!(found("FILE_NOT_EMPTY")[0], "files.remove");
        assert_eq!(found("refnd"), ["orders.refund"]);
        assert_eq!(found("remov")[0], "files.remove");
        assert_eq!(found("closing something")[0], "tickets.update");
        assert!(found("").is_empty() && found("zzz").is_empty() && found("?!").is_empty());
    }

    #[test]
    fn other_words_for_the_same_thing_are_found_for_less() {
        assert_eq!(found("erase a document")[0], "files.remove");
        assert_eq!(found("directory")[0], "files.list", "{:?}", found("directory"));
    }

    /// As many operations as a large service has, and some of their words.
    fn many(count: usize) -> OperationIndex {
        let named = |number: usize| {
            OperationDeclaration::query(&format!("group{}.action{number}", number % 17))
                .with_summary("Do something useful with it.")
        };
        let operations: Vec<OperationDeclaration> = (0..count).map(named).collect();
        OperationIndex::of(operations.iter())
    }

    #[test]
    fn a_search_costs_no_more_than_so_many_words_of_its_query() {
        let index = many(200);
        let steps = |query: &str| {
            let steps = Cell::new(0);
            index.search_counted(query, &steps);
            steps.get()
        };
        for word in ["something", "zzzzqqqq", "ac", "group1", "actionn1"] {
            let some = |count: usize| -> String { (0..count).map(|number| format!("{word}{number} ")).collect() };
            let (at, beyond) = (steps(&some(MAX_WORDS)), steps(&some(MAX_WORDS * 64)));
            assert_eq!(at, beyond, "{word}");
            assert!(at <= MAX_WORDS * (index.words.len() + MAX_ALIKE * 200), "{word}: {at}");
        }
        assert_eq!(steps(&"q".repeat(MAX_LENGTH + 1)), 1, "what is longer than any name is like none");
    }
}
