//! Whether what is asked for is found among the operations of real documents, by the search that the faces use and by
//! looking for the words themselves.

use std::{collections::BTreeMap, fs, path::Path};

use redress_core::OperationIndex;
use redress_import::{Import, ImportedOperation};

use crate::documents::{Kept, all};

/// A question, and which operations are right, by method and path.
struct Asked {
    question: String,
    right: Vec<String>,
}

/// How often one of the right operations came first, and how often it was among the first five.
#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    asked: usize,
    first: usize,
    five: usize,
}

impl Hits {
    /// Counts what was found, and says whether that was right.
    fn count(&mut self, found: &[&ImportedOperation], right: &[String]) -> bool {
        let is_right = |one: &&ImportedOperation| right.contains(&place(one));
        self.asked += 1;
        self.first += usize::from(found.first().is_some_and(is_right));
        let is_found = found.iter().take(5).any(is_right);
        self.five += usize::from(is_found);
        is_found
    }

    fn sum(self, other: Hits) -> Hits {
        Hits { asked: self.asked + other.asked, first: self.first + other.first, five: self.five + other.five }
    }
}

/// The method and the path as the document writes it: what follows a `#` there is not sent.
fn place(one: &ImportedOperation) -> String {
    let path = one.pointer.strip_prefix("/paths/").and_then(|rest| rest.rsplit_once('/')).map_or("", |(path, _)| path);
    format!("{} {}", one.request.method, path.replace("~1", "/").replace("~0", "~"))
}

/// The questions that are kept in `file`, by their documents.
fn kept(file: &str) -> BTreeMap<String, Vec<Asked>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let text = fs::read_to_string(path).unwrap();
    let mut kept: BTreeMap<String, Vec<Asked>> = BTreeMap::new();
    let mut document = String::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(name) if name.ends_with(".json") || name.ends_with(".yaml") => document = name.to_owned(),
            Some(_) => {}
            None => {
                let (question, right) = line.split_once(" -> ").unwrap_or_else(|| panic!("{line}"));
                let right = right.split(" | ").map(str::to_owned).collect();
                kept.entry(document.clone()).or_default().push(Asked { question: question.to_owned(), right });
            }
        }
    }
    kept
}

/// The operations that have most of the question's words somewhere in their names, summaries and descriptions.
fn by_substring<'i>(import: &'i Import, question: &str) -> Vec<&'i ImportedOperation> {
    let question = question.to_lowercase();
    let words: Vec<&str> = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<(usize, &ImportedOperation)> = Vec::new();
    for one in &import.operations {
        let operation = &one.operation;
        let text = format!("{} {} {}", operation.name(), operation.summary(), operation.description()).to_lowercase();
        found.push((words.iter().filter(|word| text.contains(**word)).count(), one));
    }
    found.sort_by(|(one, left), (other, right)| {
        other.cmp(one).then_with(|| left.operation.name().cmp(right.operation.name()))
    });
    found.into_iter().map(|(_, one)| one).collect()
}

/// How well the questions of one document are answered: by the search, and by substrings.
struct Measured {
    document: String,
    operations: usize,
    searched: Hits,
    plain: Hits,
    /// Which questions did not find theirs.
    missed: Vec<String>,
}

fn measured(file: &str) -> Vec<Measured> {
    let mut questions = kept(file);
    let mut made = Vec::new();
    for Kept { name, import, .. } in all() {
        let Some(asked) = questions.remove(name) else { continue };
        let index = OperationIndex::of(import.operations.iter().map(|one| &one.operation));
        let (mut searched, mut plain, mut missed) = (Hits::default(), Hits::default(), Vec::new());
        for Asked { question, right } in &asked {
            let found: Vec<&ImportedOperation> =
                index.search(question).into_iter().map(|(place, _)| &import.operations[place]).collect();
            if !searched.count(&found, right) {
                missed.push(question.clone());
            }
            plain.count(&by_substring(import, question), right);
            for one in right {
                let is_there = import.operations.iter().any(|op| *one == place(op));
                assert!(is_there, "{name}: {one}");
            }
        }
        let (document, operations) = (name.clone(), import.operations.len());
        made.push(Measured { document, operations, searched, plain, missed });
    }
    assert!(questions.is_empty(), "questions of documents that are not kept");
    made
}

/// A row for each document, one for all of them, and the questions that did not find their operation.
fn table(rows: &[Measured]) -> String {
    let line = |name: &str, operations: usize, searched: Hits, plain: Hits| {
        let share = |hits: usize| format!("{:.2}", hits as f64 / searched.asked as f64);
        let shares = [searched.first, searched.five, plain.first, plain.five].map(share).join(" | ");
        format!("| {name} | {operations} | {} | {shares} |\n", searched.asked)
    };
    let mut text = String::new();
    for row in rows {
        text += &line(&row.document, row.operations, row.searched, row.plain);
    }
    let sum = |hits: fn(&Measured) -> Hits| rows.iter().map(hits).fold(Hits::default(), Hits::sum);
    let operations = rows.iter().map(|row| row.operations).sum();
    text += &line("all", operations, sum(|row| row.searched), sum(|row| row.plain));
    for row in rows {
        text.extend(row.missed.iter().map(|question| format!("missed in {}: {question}\n", row.document)));
    }
    text
}

#[test]
fn nine_of_ten_questions_find_their_operation_among_the_first_five() {
    let rows = measured("questions.txt");
    insta::assert_snapshot!("questions", table(&rows));
    let hits = rows.iter().map(|row| row.searched).fold(Hits::default(), Hits::sum);
    assert!(hits.asked >= 100 && rows.len() >= 14, "{} questions of {} documents", hits.asked, rows.len());
    assert!(hits.five * 10 >= hits.asked * 9, "{hits:?}");
}

#[test]
fn questions_that_nobody_had_in_mind_find_theirs_more_often_than_by_substrings() {
    let rows = measured("questions-unseen.txt");
    insta::assert_snapshot!("questions-unseen", table(&rows));
    let sum = |hits: fn(&Measured) -> Hits| rows.iter().map(hits).fold(Hits::default(), Hits::sum);
    let (searched, plain) = (sum(|row| row.searched), sum(|row| row.plain));
    assert!(searched.five > plain.five && searched.first > plain.first, "{searched:?} {plain:?}");
}
