//! Real documents, and small ones that a test writes.

use std::{fs, io::Read, path::Path, sync::LazyLock};

use flate2::read::GzDecoder;
use redress_import::{Import, ImportedOperation, ReadOptions, openapi};
use serde_json::Value;

/// A kept document, and what was read from it.
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) import: Import,
    /// As a parser reads it that is not ours.
    pub(crate) plain: Value,
}

/// Every kept document, read once for all tests.
pub(crate) fn all() -> &'static [Kept] {
    static ALL: LazyLock<Vec<Kept>> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
        let entries = fs::read_dir(folder).expect("the documents are part of the repository");
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|kind| kind == "gz"));
        paths.sort();
        assert_eq!(paths.len(), 16);
        let kept = paths.iter().map(|path| {
            let bytes = unpacked(path);
            Kept {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                import: read(&bytes),
                plain: plain(&bytes),
                bytes,
            }
        });
        kept.collect()
    });
    &ALL
}

/// One kept document.
pub(crate) fn one(name: &str) -> &'static Kept {
    all().iter().find(|kept| kept.name == name).unwrap()
}

fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A document read with nothing said about how.
pub(crate) fn read(document: impl AsRef<[u8]>) -> Import {
    openapi::read(document.as_ref(), &ReadOptions::default()).unwrap()
}

/// A document of 3.1 with these paths, in YAML, and maybe more after them.
pub(crate) fn with_paths(paths: &str) -> Import {
    let paths: String = paths.lines().map(|line| format!("  {line}\n")).collect();
    read(format!("openapi: 3.1.0\ninfo: {{title: Shop, version: '1'}}\npaths:\n{paths}"))
}

/// The operation of this name.
#[track_caller]
pub(crate) fn operation<'i>(import: &'i Import, name: &str) -> &'i ImportedOperation {
    let names: Vec<&str> = import.operations.iter().map(|one| one.operation.name().as_str()).collect();
    import.operations.iter().find(|one| *one.operation.name() == *name).unwrap_or_else(|| panic!("{name} in {names:?}"))
}

/// The document as a plain value, read by a parser that is not ours.
fn plain(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .or_else(|_| yaml_serde::from_slice(bytes))
        .or_else(|_| {
            let mut options = serde_saphyr::Options::default();
            options.strict_booleans = true;
            let mut budget = serde_saphyr::Budget::default();
            budget.max_events = 10_000_000;
            budget.max_nodes = 10_000_000;
            options.budget = Some(budget);
            serde_saphyr::from_str_with_options(std::str::from_utf8(bytes).unwrap(), options)
        })
        .unwrap()
}

/// What a node refers to.
pub(crate) fn followed<'v>(root: &'v Value, node: &'v Value) -> &'v Value {
    let mut node = node;
    while let Some(reference) = node.get("$ref").and_then(Value::as_str) {
        node = root.pointer(reference.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("{reference}"));
    }
    node
}

/// Every operation of a plain document: path, method and node.
pub(crate) fn operations(root: &Value) -> Vec<(String, String, Value)> {
    const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
    let mut made = Vec::new();
    for (path, item) in root.get("paths").and_then(Value::as_object).into_iter().flatten() {
        let item = followed(root, item);
        for method in METHODS {
            if let Some(node) = item.get(method) {
                made.push((path.clone(), method.to_ascii_uppercase(), node.clone()));
            }
        }
    }
    made
}
