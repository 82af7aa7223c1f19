//! A type's name is unique in its crate, and in the workspace unless it is the same thing: whoever searches for a name finds
//! one definition.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Programs around the product. They are read on their own, so their names are held against themselves alone.
const PROGRAMS: [&str; 5] = ["redress-bench", "redress-fuzz", "redress-soak", "helpdesk", "warehouse"];

/// Crates whose names are unique in themselves and not yet against the others: what connects to services is younger than
/// the rest, and a name leaves this list with its crate.
const YOUNG: [&str; 2] = ["redress-import", "redress-upstream"];

/// One thing that two crates have to define: the macros cannot use what they write, what a build leaves out has a stand-in,
/// and an alias of the library's type or a pair of bytes and what they hold is nobody's to share.
const SAME: [(&str, &[&str]); 12] = [
    ("BoxFuture", &["redress-core", "redress-state"]),
    ("Deprecation", &["redress-contract", "redress-macros"]),
    ("ExampleEnding", &["redress-contract", "redress-macros"]),
    ("HeldBytes", &["redress-mcp", "redress-serve"]),
    ("Kind", &["redress-contract", "redress-macros"]),
    ("Otlp", &["redress-cli", "redress-telemetry"]),
    ("Overflow", &["redress-contract", "redress-macros"]),
    ("Recovery", &["redress-contract", "redress-macros"]),
    ("Streaming", &["redress-contract", "redress-macros"]),
    ("TemplatePart", &["redress-contract", "redress-macros"]),
    ("Verb", &["redress-contract", "redress-macros"]),
    ("Verification", &["redress-contract", "redress-macros"]),
];

/// Types of one crate that are there in two builds: for this platform or feature, and for the others.
const BY_BUILD: [(&str, &str); 4] = [
    ("redress-access", "VerificationKeys"),
    ("redress-access", "Verifier"),
    ("redress-cli", "ReloadSignal"),
    ("redress-cli", "StateLayer"),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && name != "tests.rs" => found.push(path),
            _ => {}
        }
    }
}

/// The name that a line defines a type under.
fn defined(line: &str) -> Option<&str> {
    let inner = line.starts_with(' ');
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = match after.strip_prefix('(') {
            Some(after) => after.split_once(')')?.1.trim_start(),
            None => after.strip_prefix(' ')?,
        };
    }
    let (keyword, rest) = rest.split_once(' ')?;
    // An indented `type` is one that a trait has.
    let defines = matches!(keyword, "struct" | "enum" | "trait" | "union") || (keyword == "type" && !inner);
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (defines && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some(name)
}

/// The types of each crate, and how often each is defined there. What is below `mod tests` is a test's own.
fn types() -> BTreeMap<String, BTreeMap<String, Vec<PathBuf>>> {
    let mut crates = BTreeMap::new();
    let folders = fs::read_dir(workspace().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders
        .chain(["helpdesk", "warehouse"].map(|name| workspace().join("examples").join(name)))
        .filter(|folder| folder.join("src").is_dir())
    {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let types: &mut BTreeMap<String, Vec<PathBuf>> = crates.entry(name).or_default();
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for name in text.lines().take_while(|line| line.trim() != "mod tests {").filter_map(defined) {
                types.entry(name.to_owned()).or_default().push(file.clone());
            }
        }
    }
    crates
}

#[test]
fn a_type_has_its_name_alone_in_its_crate() {
    let mut twice = Vec::new();
    for (name, types) in types() {
        let repeated = types.into_iter().filter(|(_, files)| files.len() > 1);
        let repeated = repeated.filter(|(ty, _)| !BY_BUILD.contains(&(name.as_str(), ty.as_str())));
        twice.extend(repeated.map(|(ty, files)| format!("{name}: {ty} in {files:?}")));
    }
    assert!(twice.is_empty(), "{twice:#?}");
}

#[test]
fn a_type_has_its_name_alone_in_the_workspace_unless_it_is_the_same_thing() {
    let mut by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, types) in types().into_iter().filter(|(name, _)| {
        let name = name.as_str();
        !PROGRAMS.contains(&name) && !YOUNG.contains(&name)
    }) {
        for ty in types.into_keys() {
            by_name.entry(ty).or_default().insert(name.clone());
        }
    }
    by_name.retain(|_, crates| crates.len() > 1);
    let same: BTreeMap<String, BTreeSet<String>> = SAME
        .iter()
        .map(|(name, crates)| ((*name).to_owned(), crates.iter().map(|name| (*name).to_owned()).collect()))
        .collect();
    assert_eq!(by_name, same, "left: names that stand in several crates; right: those that are one thing");
}

#[test]
fn a_definition_is_known_by_its_line() {
    assert_eq!(defined("pub(crate) struct Detached {"), Some("Detached"));
    assert_eq!(defined("    enum WrittenSize {"), Some("WrittenSize"));
    assert_eq!(defined("pub type Close = (u16, &'static str);"), Some("Close"));
    assert_eq!(defined("    type Output = Reply;"), None);
    assert_eq!(defined("impl Detached {"), None);
}
