//! Every input that was kept is given to its target again.

use std::{
    collections::BTreeSet,
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
};

use redress_fuzz::TARGETS;

/// The most bytes that may be kept in all.
const MAX: u64 = 1024 * 1024;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("the corpus can be read").path()).collect();
    files.sort();
    files
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "a name stands twice");
    let folders = files(&corpus());
    let kept = folders.iter().map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(targets, kept);
    let all = folders.iter().flat_map(|folder| files(folder));
    let bytes: u64 = all.map(|file| fs::metadata(file).unwrap().len()).sum();
    assert!(bytes < MAX, "{bytes} bytes are kept");
}

#[test]
fn every_kept_input_keeps_what_its_target_asks() {
    let mut failed = Vec::new();
    let mut tried = 0;
    for (name, target) in TARGETS {
        for file in files(&corpus().join(name)) {
            let bytes = fs::read(&file).unwrap();
            tried += 1;
            if catch_unwind(|| target(&bytes)).is_err() {
                failed.push(file.strip_prefix(corpus()).unwrap().display().to_string());
            }
        }
        // Nothing at all comes from outside too.
        target(b"");
    }
    assert!(tried >= TARGETS.len() && failed.is_empty(), "of {tried} failed {failed:#?}");
}
