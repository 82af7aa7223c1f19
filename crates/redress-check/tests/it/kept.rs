//! Files that are made by the code, and kept.

use std::{fs, path::Path};

/// Compares a kept file with what is made today; `REDRESS_BLESS=1` rewrites it.
#[track_caller]
pub(crate) fn assert_kept(path: &Path, made: &str) {
    if std::env::var_os("REDRESS_BLESS").is_some() {
        return fs::write(path, made).expect("the folder of fixtures is part of the repository");
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == made, "{} is stale; run `REDRESS_BLESS=1 cargo test`\n{made}", path.display());
}
