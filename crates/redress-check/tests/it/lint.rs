//! Every rule about one contract, on every contract that is kept.

use std::{collections::BTreeSet, fs, path::PathBuf};

use redress_check::{Grade, Lock, grades, lint, lint_rules};
use redress_contract::Contract;

use crate::kept::assert_kept;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lint"))
}

/// The contracts, each with the rule that it is for; `nothing` is for none.
fn contracts() -> Vec<(String, Lock)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |path: PathBuf| {
        let contract: Contract = serde_json::from_slice(&fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.file_stem().unwrap().to_string_lossy().into_owned(), Lock::of(&contract))
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_rule_runs_on_every_contract_and_says_what_it_should_and_nothing_else() {
    for (id, lock) in contracts() {
        let found = lint(&lock);
        let said: String = found.iter().map(|finding| format!("{finding}\n")).collect();
        assert_kept(&folder().join(format!("{id}.txt")), &said);
        assert_eq!(found.iter().any(|finding| finding.rule() == id), id != "nothing", "{id}:\n{said}");
        assert!(id != "nothing" || found.is_empty(), "{said}");
    }
}

#[test]
fn every_rule_has_a_page_and_a_contract_that_fires_it() {
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lint"));
    let contracts = contracts();
    let ids: BTreeSet<&str> = lint_rules().map(|rule| rule.id()).collect();
    let kept: BTreeSet<&str> = contracts.iter().map(|(id, _)| id.as_str()).filter(|id| *id != "nothing").collect();
    assert_eq!(kept, ids, "left: contracts; right: rules");
    for rule in lint_rules() {
        let page = rule.page();
        assert!(page.starts_with(&format!("# {}\n", rule.id())), "{}", rule.id());
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, ["## What it means", "## Why it matters", "## Example", "## What to do"], "{}", rule.id());
        let (_, lock) = contracts.iter().find(|(id, _)| id == rule.id()).unwrap();
        let found = lint(lock);
        let first = found.iter().find(|finding| finding.rule() == rule.id()).unwrap();
        let path = source.join(format!("{}.md", rule.id().replace('-', "_")));
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("```text\n").unwrap();
        let (_, after) = rest.split_once("```").unwrap();
        assert_kept(&path, &format!("{before}```text\n{first}\n```{after}"));
    }
}

#[test]
fn a_contract_has_the_grade_of_most_of_its_operations() {
    for (id, lock) in contracts() {
        let (each, all) = grades(&lock, &lint(&lock));
        assert_eq!(each.len(), lock.operations().count());
        assert_eq!(id == "nothing", all == Grade::A && each.values().all(|grade| *grade == Grade::A), "{id}");
    }
}
