//! `ARCHITECTURE.md` says which crate may use which; here it is held against what Cargo says.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

/// Crates that may use every other, whatever the table says: they measure or run the whole.
const UNBOUND: [&str; 2] = ["redress-bench", "redress-fuzz"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    /// Where the crate lies, if it is not from a registry.
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The crates of the workspace, by name.
fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .expect("the cargo that builds this test is there when it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).unwrap();
    metadata.packages.into_iter().map(|package| (package.name.clone(), package)).collect()
}

/// The table of `ARCHITECTURE.md`: each crate, and the crates that it may use.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is at the root");
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let is_head = |line: &&str| {
        let cells = cells(line);
        cells.len() == 3 && cells[0] == "crate" && cells[2] == "may use"
    };
    let rows = text.lines().skip_while(|line| !is_head(line)).skip(2).take_while(|line| line.starts_with('|'));
    let table: BTreeMap<String, BTreeSet<String>> = rows
        .map(|row| {
            let cells = cells(row);
            assert_eq!(cells.len(), 3, "{row}");
            (cells[0].trim_matches('`').to_owned(), allowed(&cells[2]))
        })
        .collect();
    assert!(!table.is_empty(), "ARCHITECTURE.md has no table `crate | what it knows | may use`");
    table
}

/// The crates in the last cell, by their full names; `all` stays as it is.
fn allowed(cell: &str) -> BTreeSet<String> {
    // What follows a semicolon or a parenthesis explains: "serve as a feature".
    let words = cell.split([',', ';']).map(|word| word.trim().trim_matches('`'));
    let words = words.filter_map(|word| word.split_whitespace().next());
    words
        .filter(|word| *word != "–" && *word != "-")
        .map(|word| {
            let word = word.trim_matches('`');
            if word == "all" || word.starts_with("redress") { word.to_owned() } else { format!("redress-{word}") }
        })
        .collect()
}

/// The crates of the workspace that `package` is built from, tests and benches not counted.
fn used(package: &Package) -> BTreeSet<&str> {
    let local = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
    local.filter(|dependency| dependency.kind.is_none()).map(|dependency| dependency.name.as_str()).collect()
}

#[test]
fn the_table_names_the_crates_of_the_workspace_and_no_others() {
    let (table, packages) = (table(), packages());
    let (told, there): (BTreeSet<_>, BTreeSet<_>) = (table.keys().collect(), packages.keys().collect());
    assert_eq!(told, there);
}

#[test]
fn a_crate_uses_only_what_the_table_lets_it_use() {
    let table = table();
    for (name, package) in packages() {
        let Some(allowed) = table.get(&name) else { continue };
        if UNBOUND.contains(&name.as_str()) || allowed.contains("all") {
            continue;
        }
        for other in used(&package) {
            assert!(allowed.contains(other), "`{name}` uses `{other}`, and ARCHITECTURE.md lets it use {allowed:?}");
        }
    }
}

#[test]
fn no_crate_lets_a_use_stand_in_the_table_that_names_no_crate() {
    let table = table();
    for (name, allowed) in &table {
        for other in allowed.iter().filter(|other| *other != "all") {
            assert!(table.contains_key(other), "`{name}` may use `{other}`, which is no crate");
        }
    }
}

#[test]
fn every_library_opens_with_what_it_knows_and_what_it_never_knows() {
    for (name, package) in packages() {
        let library =
            package.targets.iter().find(|target| target.kind.iter().any(|kind| kind == "lib" || kind == "proc-macro"));
        let Some(library) = library else { continue };
        let source = fs::read_to_string(&library.src_path).unwrap();
        let opening: Vec<&str> = source.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(
            opening.iter().any(|line| line.contains("**Invariant:**")),
            "the documentation of `{name}` ({}) states no invariant",
            package.manifest_path.file_name().unwrap_or_default().to_string_lossy()
        );
    }
}

#[test]
fn the_table_is_read_as_it_is_written() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(allowed("–"), set(&[]));
    assert_eq!(allowed("contract, `wire`"), set(&["redress-contract", "redress-wire"]));
    assert_eq!(
        allowed("contract, core; serve as a feature"),
        set(&["redress-contract", "redress-core", "redress-serve"])
    );
    assert_eq!(allowed("all"), set(&["all"]));
}
