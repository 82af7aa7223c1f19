//! The names of files that are being written, and the removal of those that a crash left.
//!
//! A writer holds a lock on its temporary file for as long as it lives, so one that can be
//! locked belongs to nobody any more.

use std::ffi::OsStr;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};

const BEFORE: &str = ".redress-";
const AFTER: &str = ".tmp";
const DIGITS: usize = 16;

/// A fresh name.
pub(crate) fn name() -> String {
    format!("{BEFORE}{:0DIGITS$x}{AFTER}", fastrand::u64(..))
}

/// Whether `name` is one of ours. Case is folded, since some file systems do.
pub(crate) fn is_temporary(name: &str) -> bool {
    let folded = name.to_ascii_lowercase();
    let middle = folded.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER));
    middle.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Whether an entry's name is one of ours.
pub(crate) fn is_temporary_entry(name: &OsStr) -> bool {
    name.to_str().is_some_and(is_temporary)
}

/// Removes what crashed writers left in `folder`. What cannot be removed stays hidden.
pub(crate) fn sweep(folder: &Dir) {
    let Ok(entries) = folder.entries() else { return };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name())).filter(|name| is_temporary_entry(name));
    for name in names {
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true).follow(FollowSymlinks::No);
        let stale = folder.open_with(&name, &options).is_ok_and(|file| file.into_std().try_lock().is_ok());
        if stale {
            // Another process may have been faster; either way it is gone.
            let _ = folder.remove_file(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_temporary() {
        assert!(is_temporary(&name()) && is_temporary(&name().to_uppercase()));
        for other in [".redress-.tmp", ".redress-0123456789abcdeg.tmp", "redress-0123456789abcdef.tmp", ".redress"] {
            assert!(!is_temporary(other), "{other}");
        }
    }
}
