//! The pairs of contracts that are kept as tests, one for each rule.

use std::{fs, path::PathBuf};

use redress_check::Lock;
use redress_contract::{Code, Contract, OperationDeclaration};
use serde::Deserialize;

/// A pair as it is kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptPair {
    before: KeptContract,
    after: KeptContract,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptContract {
    operations: Vec<OperationDeclaration>,
    #[serde(default)]
    retired: Vec<Code>,
    #[serde(default)]
    reserved: Vec<Code>,
    /// Whether it is made without a look at what was before.
    #[serde(default)]
    forgets: bool,
}

/// Two locks, and the rule that they are for.
pub(crate) struct Pair {
    pub(crate) id: String,
    pub(crate) before: Lock,
    pub(crate) after: Lock,
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/changes"))
}

fn lock(kept: &KeptContract) -> Lock {
    let mut lock = Lock::of(&Contract::new(kept.operations.iter().cloned()));
    for code in &kept.reserved {
        lock.reserve(code.clone(), "something to come").unwrap();
    }
    for code in &kept.retired {
        lock.reserve(code.clone(), "it was declared once").unwrap();
        lock.retire(code, "it is not declared any more").unwrap();
    }
    lock
}

/// Every pair, in the order of the rules' ids.
pub(crate) fn pairs() -> Vec<Pair> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |path: PathBuf| {
        let id = path.file_stem().unwrap().to_string_lossy().into_owned();
        let kept: KeptPair = serde_json::from_slice(&fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (before, after) = (lock(&kept.before), lock(&kept.after));
        let after = if kept.after.forgets { after } else { after.succeeding(&before) };
        Pair { id, before, after }
    };
    files.into_iter().map(read).collect()
}
