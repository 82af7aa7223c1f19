//! The guides are run: what stands in a block of Rust in `README.md` or `docs/` is a doc test, or is quoted, word for word,
//! from a source that the tests compile and run.

mod access;
#[cfg(feature = "cli")]
mod command;
mod extensions;
mod failures;
mod http;
mod operations;
mod retries;
mod state;

use std::{
    fs,
    path::{Path, PathBuf},
};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A block of a guide.
struct Block {
    guide: String,
    line: usize,
    /// What stands behind the fence: `rust`, `rust,ignore`.
    tag: String,
    text: String,
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace().join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths
}

/// A text without what formatting changes: white space, and the comma before an end.
fn bare(text: &str) -> String {
    let dense: String = text.split_whitespace().collect();
    [",}", ",)", ",]"].into_iter().fold(dense, |text, end| text.replace(end, &end[1..]))
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for path in files("docs", "md").into_iter().chain([workspace().join("README.md")]) {
        let guide = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let mut open: Option<Block> = None;
        for (line, content) in (1..).zip(text.lines()) {
            match (content.strip_prefix("```"), open.take()) {
                (Some(tag), None) => {
                    open = Some(Block { guide: guide.clone(), line, tag: tag.to_owned(), text: String::new() })
                }
                (Some(_), Some(block)) => blocks.push(block),
                (None, Some(mut block)) => {
                    block.text.push_str(content);
                    block.text.push('\n');
                    open = Some(block);
                }
                (None, None) => {}
            }
        }
    }
    blocks
}

/// Everything that the tests compile and run, and that a guide may quote.
fn sources() -> Vec<String> {
    let mut sources = Vec::new();
    for folder in [
        "crates/redress/tests/it/guides",
        "crates/redress/tests/it/guides/operations",
        "examples",
        "examples/helpdesk/src",
        "examples/helpdesk/tests",
        "examples/warehouse/src",
        "examples/warehouse/tests",
    ] {
        sources.extend(files(folder, "rs"));
    }
    sources
        .extend(["crates/redress-serve/tests/it/guide.rs", "crates/redress-files/tests/it/guide.rs"].map(Into::into));
    let read = sources.into_iter().map(|path| bare(&fs::read_to_string(workspace().join(path)).unwrap()));
    read.collect()
}

#[test]
fn every_block_of_rust_in_a_guide_is_compiled() {
    let doc_tests =
        ["crates/redress/src/lib.rs", "crates/redress-check/src/lib.rs", "crates/redress-import/src/lib.rs"]
            .map(|path| fs::read_to_string(workspace().join(path)).unwrap());
    let (sources, tested) = (sources(), doc_tests.concat());
    let is_rust = |block: &Block| block.tag.split(',').next() == Some("rust");
    let mut seen = 0;
    let stray: Vec<String> = blocks()
        .into_iter()
        .filter(is_rust)
        .inspect(|_| seen += 1)
        .filter(|block| match block.tag.as_str() {
            "rust" | "rust,no_run" => !tested.contains(&format!("/{}\")]", block.guide)),
            _ => !sources.iter().any(|source| source.contains(bare(&block.text).trim_end_matches(','))),
        })
        .map(|block| format!("{}:{}", block.guide, block.line))
        .collect();
    assert!(seen > 20, "{seen} blocks are too few: are the guides still there?");
    assert!(stray.is_empty(), "neither doc tests, nor in a source that is compiled: {stray:#?}");
}
