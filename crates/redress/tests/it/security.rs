//! The page on security promises nothing that no test holds.

use std::{fs, path::Path};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The rows of the table of promises: what is promised, and the tests that hold it, by file.
fn promises() -> Vec<(String, Vec<(String, String)>)> {
    let page = fs::read_to_string(workspace().join("docs/security.md")).expect("the page is part of the repository");
    let rows = page.lines().skip_while(|line| *line != "| promise | held by |").skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [promise, held] = cells[..] else { panic!("a row has two cells: {row}") };
            let tests = held.split(';').flat_map(|file| {
                let (path, names) = file.split_once(':').unwrap_or_else(|| panic!("`file`: `test`, …: {file}"));
                let bare = |text: &str| text.trim().trim_matches('`').to_owned();
                names.split(',').map(move |name| (bare(path), bare(name))).collect::<Vec<_>>()
            });
            (promise.to_owned(), tests.collect())
        })
        .collect()
}

#[test]
fn every_promise_is_held_by_tests_that_exist() {
    let promises = promises();
    assert!(promises.len() >= 20, "the table of promises was not read: {}", promises.len());
    for (promise, tests) in promises {
        assert!(!tests.is_empty(), "nothing holds: {promise}");
        for (file, test) in tests {
            let path = workspace().join("crates").join(&file);
            let source = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{promise}: there is no file {file}"));
            let at = source.find(&format!("fn {test}(")).unwrap_or_else(|| panic!("{promise}: {file} has no {test}"));
            // What stands above a function, up to the end of the one before it.
            let above = source[..at].rsplit("\n}\n").next().unwrap_or_default();
            assert!(above.contains("test"), "{promise}: {file}: {test} is no test");
        }
    }
}
