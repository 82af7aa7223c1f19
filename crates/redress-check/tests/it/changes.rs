//! Every rule about changes, on every pair.

use std::{collections::BTreeSet, fs, path::Path};

use redress_check::{Bump, Compatibility, change_rules, changes};

use crate::{
    fixtures::{folder, pairs},
    kept::assert_kept,
};

#[test]
fn every_rule_runs_on_every_pair_and_says_what_it_should_and_nothing_else() {
    for pair in pairs() {
        let found = changes(&pair.before, &pair.after);
        let said: String = found.iter().map(|change| format!("{change}\n")).collect();
        assert_kept(&folder().join(format!("{}.txt", pair.id)), &said);
        assert!(found.iter().any(|change| change.rule().id() == pair.id), "{} is not among\n{said}", pair.id);
        for change in &found {
            assert!(change.compatibility() >= change.rule().worst(), "{change}");
        }
    }
}

#[test]
fn any_contract_against_itself_gives_nothing() {
    for pair in pairs() {
        for lock in [&pair.before, &pair.after] {
            assert_eq!(changes(lock, lock), [], "{}", pair.id);
        }
    }
}

#[test]
fn every_rule_has_a_page_and_a_pair_and_some_pair_shows_its_worst() {
    let pairs = pairs();
    let ids: Vec<&str> = change_rules().map(|rule| rule.id()).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "an id stands for one rule");
    assert!(ids.len() >= 80, "{}", ids.len());
    let kept: BTreeSet<&str> = pairs.iter().map(|pair| pair.id.as_str()).collect();
    assert_eq!(kept, unique, "left: pairs; right: rules");
    for rule in change_rules() {
        let page = rule.page();
        assert!(page.starts_with(&format!("# {}\n", rule.id())), "{}", rule.id());
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, ["## What it means", "## Why it matters", "## Example", "## What to do"], "{}", rule.id());
        let words = page.split("```").step_by(2).flat_map(str::lines);
        assert!(words.into_iter().all(|line| line.chars().count() <= 120), "{}", rule.id());
        let pair = pairs.iter().find(|pair| pair.id == rule.id()).unwrap();
        let found = changes(&pair.before, &pair.after);
        let worst = found.iter().filter(|change| change.rule().id() == rule.id()).map(|change| change.compatibility());
        assert_eq!(worst.min(), Some(rule.worst()), "{}", rule.id());
    }
}

#[test]
fn the_example_of_a_page_is_what_the_rule_says() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/changes"));
    for pair in pairs() {
        let found = changes(&pair.before, &pair.after);
        let first = found.iter().find(|change| change.rule().id() == pair.id).unwrap();
        let file = format!("{}.md", pair.id.replace('-', "_"));
        let groups = ["operation", "failure", "code", "member", "schema"];
        let path = groups.iter().map(|group| source.join(group).join(&file)).find(|path| path.exists()).unwrap();
        let page = fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once("```text\n").unwrap();
        let (_, after) = rest.split_once("```").unwrap();
        assert_kept(&path, &format!("{before}```text\n{first}\n```{after}"));
    }
}

#[test]
fn the_version_that_has_to_be_raised_is_that_of_the_worst_change() {
    let bump = |id: &str| {
        let pair = pairs().into_iter().find(|pair| pair.id == id).unwrap();
        Bump::of(changes(&pair.before, &pair.after).iter().map(|change| change.compatibility()))
    };
    assert_eq!(bump("failure-added"), Bump::Major);
    assert_eq!(bump("failure-refined"), Bump::Minor);
    assert_eq!(bump("operation-wording"), Bump::Patch);
    assert!(Compatibility::Wording.passes() && !Compatibility::Undecided.passes());
}

#[test]
fn a_break_within_a_schema_comes_with_a_value_that_shows_it() {
    let without = [
        // What no validator checks.
        "encoding-narrowed",
        "encoding-widened",
        "unclear-narrowed",
        "unclear-widened",
    ];
    for pair in pairs().iter().filter(|pair| !without.contains(&pair.id.as_str())) {
        for change in changes(&pair.before, &pair.after) {
            let is_schema = change.address().contains("put") || change.address().contains("/details");
            let by_name = ["default-changed", "property-removed"].contains(&change.rule().id());
            if is_schema && !by_name && change.compatibility() <= Compatibility::Undecided {
                assert!(change.witness().is_some(), "{}: {change}", pair.id);
            }
        }
    }
}
