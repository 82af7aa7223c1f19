//! What is written for people who change the code is true: the index of decisions, what the code says of them, and the
//! paths of CONTRIBUTING.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The pages, by file name, with their titles.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(workspace().join("docs/decisions")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let heading = text.lines().next().unwrap();
        let (number, title) = heading.trim_start_matches("# ").split_once([':', '.']).unwrap();
        let number: u32 = number.parse().unwrap_or_else(|_| panic!("{name}: `{heading}` begins with a number"));
        assert!(name.starts_with(&format!("{number:04}-")), "{name} is called after its number, {number}");
        pages.insert(name, title.trim().to_owned());
    }
    pages
}

#[test]
fn the_index_names_every_page_by_its_title_once_and_in_order() {
    let index = fs::read_to_string(workspace().join("docs/decisions/README.md")).unwrap();
    let rows: Vec<&str> = index.lines().filter(|line| line.starts_with("| ") && line.contains("](")).collect();
    let mut named = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, link, line] = cells[..] else { panic!("`{row}` has a number, a link and a line") };
        let (title, file) = link.trim_start_matches('[').trim_end_matches(')').split_once("](").unwrap();
        assert!(file.starts_with(&format!("{:04}-", number.parse::<u32>().unwrap())), "{row}");
        assert!(line.ends_with('.') && line.len() > 20, "`{file}` is told in one sentence: {line}");
        named.push((file.to_owned(), title.to_lowercase()));
    }
    let pages: Vec<(String, String)> = pages().into_iter().map(|(name, title)| (name, title.to_lowercase())).collect();
    assert_eq!(named, pages);
}

/// The sources of every crate and example.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && path.file_name().is_some_and(|name| name != "target" && name != "corpus") {
            sources(&path, found);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_decision_that_the_code_names_is_there_and_most_are_named() {
    let pages = pages();
    let mut named = BTreeMap::<String, usize>::new();
    let mut files = Vec::new();
    for folder in ["crates", "examples"] {
        sources(&workspace().join(folder), &mut files);
    }
    let marker = concat!("docs/", "decisions/0");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (at, _) in text.match_indices(marker) {
            let page = &text[at + "docs/decisions/".len()..];
            let page = page.split_once(".md").map(|(name, _)| format!("{name}.md")).unwrap_or_default();
            assert!(pages.contains_key(&page), "{} names `{page}`, which is no decision", file.display());
            *named.entry(page).or_default() += 1;
        }
    }
    let silent: Vec<&String> = pages.keys().filter(|page| !named.contains_key(*page)).collect();
    assert!(silent.len() * 2 < pages.len(), "no code names these decisions: {silent:#?}");
}

/// A number of a list that is not here tells a reader nothing. A comment says the sentence.
#[test]
fn no_comment_cites_a_requirement_by_its_number() {
    let mut files = Vec::new();
    for folder in ["crates", "examples"] {
        sources(&workspace().join(folder), &mut files);
    }
    assert!(files.len() > 500, "the sources were found");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            let cited = comment.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').find(|word| is_number(word));
            assert_eq!(cited, None, "{}:{}", file.display(), number + 1);
        }
    }
}

/// Whether a word is the number of a requirement: one letter, a hyphen, two digits.
fn is_number(word: &str) -> bool {
    matches!(word.as_bytes(), [b'K' | b'M', b'-', tens, ones] if tens.is_ascii_digit() && ones.is_ascii_digit())
}

#[test]
fn every_path_that_contributing_names_is_there() {
    let text = fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
    let named: Vec<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| ["crates/", "docs/", "examples/", "deploy/", "scripts/"].iter().any(|top| word.starts_with(top)))
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_graphic()))
        .collect();
    assert!(named.len() > 40, "the paths were found: {named:?}");
    for path in named {
        // What is made by whoever follows the walk, or stands for several, is looked for as far as it is written.
        let written = path.split(['*', '…']).next().unwrap();
        let written = written.split("NAME").next().unwrap().split("TABLE").next().unwrap();
        let written = written.split("CODE").next().unwrap().split("/ID.").next().unwrap();
        let there =
            workspace().join(written.rsplit_once('/').filter(|_| written != path).map_or(written, |(to, _)| to));
        assert!(there.exists(), "CONTRIBUTING names `{path}`, and {} is not there", there.display());
    }
}
