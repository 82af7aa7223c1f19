//! What the compiler says to a mistake: one message, at the author's own token.

use std::{fs, path::Path};

/// The compiler's words for each file of mistakes, read from beside it.
fn messages(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut messages: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "stderr"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    messages.sort();
    messages
}

#[test]
fn every_mistake_is_refused_with_its_message() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.compile_fail("tests/ui_types/*.rs");
}

#[test]
fn a_message_has_at_most_six_lines_and_underlines_the_authors_own_token() {
    let messages = messages("ui");
    assert!(messages.len() >= 40, "there are {} cases", messages.len());
    for (name, message) in messages {
        let errors = message.lines().filter(|line| line.starts_with("error")).count();
        assert_eq!(errors, 1, "{name}: one mistake, one message\n{message}");
        assert!(message.lines().count() <= 6, "{name} is told at length\n{message}");
        assert!(message.contains(&format!("--> tests/ui/{name}.rs:")), "{name} points elsewhere\n{message}");
        assert!(
            message.contains('^') && !message.contains("#[derive(Debug, Failure)]\n"),
            "{name} underlines nothing\n{message}"
        );
        assert!(!message.contains("originates in"), "{name} blames the macro\n{message}");
    }
}

#[test]
fn a_mistake_in_the_types_is_told_at_the_authors_own_token() {
    for (name, message) in messages("ui_types") {
        assert!(message.contains(&format!("--> tests/ui_types/{name}.rs:")), "{name} points elsewhere\n{message}");
    }
}

#[test]
fn the_macros_know_the_engine_codes() {
    let known = include_str!("../../src/engine_codes.txt");
    let codes: Vec<&str> = redress::EngineCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(known.lines().collect::<Vec<_>>(), codes);
}
