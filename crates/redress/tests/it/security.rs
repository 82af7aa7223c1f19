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
            assert!(is_run(&source[..at]), "{promise}: {file}: {test} is no test, or is not run");
        }
    }
}

/// Whether the function that `before` leads to is a test that is run: by the attributes that stand directly above it.
fn is_run(before: &str) -> bool {
    // The line of the function itself may begin with `async`.
    let above = before.rfind('\n').map_or("", |end| &before[..end]);
    let attributes: Vec<&str> = above.lines().rev().map(str::trim).take_while(|line| line.starts_with("#[")).collect();
    let test = |line: &&str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    attributes.iter().any(test) && !attributes.iter().any(|line| line.starts_with("#[ignore"))
}

#[test]
fn a_function_that_only_stands_among_tests_holds_nothing() {
    assert!(
        is_run("#[test]\n")
            && is_run("    #[tokio::test(start_paused = true)]\n    async ")
            && is_run("}\n\n#[cfg(unix)]\n#[test]\n")
    );
    assert!(
        !is_run("mod tests {\n    use test::*;\n    ")
            && !is_run("#[test]\nfn one() {}\n\n")
            && !is_run("#[test]\n#[ignore = \"slow\"]\n")
    );
}
