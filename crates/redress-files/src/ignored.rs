//! What `.gitignore` and `.ignore` files leave out of a search. They are read through the
//! folder handle; the engine is ripgrep's and sees lines, never a file system.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::{sandbox::reading_no_link, wire_path::WirePath};

/// How much of such a file is read.
const MAX_SIZE: u64 = 64 * 1024;
/// How many of its lines count. All of a folder's rules are compiled before the first of its files is looked at, and
/// nothing can end that: it has to be little.
const RULES: usize = 2_000;

/// The rules of the folders that a walk is in, outermost first. A clone costs no rules.
#[derive(Clone, Default)]
pub(crate) struct Ignored(Vec<Arc<Gitignore>>);

impl Ignored {
    /// A folder is entered.
    pub(crate) fn enter(&mut self, folder: &Dir, path: &WirePath) {
        let mut builder = GitignoreBuilder::new(virtual_path(path));
        for name in [".gitignore", ".ignore"] {
            for line in lines(folder, name) {
                // A line that is no rule rules nothing.
                let _ = builder.add_line(None, &line);
            }
        }
        self.0.push(Arc::new(builder.build().unwrap_or_else(|_| Gitignore::empty())));
    }

    /// The last folder entered is left.
    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }

    /// Whether `path` is left out; the innermost rule that speaks of it decides.
    pub(crate) fn leave_out(&self, path: &WirePath, is_folder: bool) -> bool {
        if is_folder && path.name() == ".git" {
            return true;
        }
        let path = virtual_path(path);
        let spoken = self.0.iter().rev().map(|rules| rules.matched(&path, is_folder)).find(|rule| !rule.is_none());
        spoken.is_some_and(|rule| rule.is_ignore())
    }
}

/// The path under a root that is no place, so that rules of a folder strip that folder.
fn virtual_path(path: &WirePath) -> PathBuf {
    Path::new("/").join(path.names().collect::<PathBuf>())
}

fn lines(folder: &Dir, name: &str) -> Vec<String> {
    let Ok(file) = folder.open_with(name, &reading_no_link()) else { return Vec::new() };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Vec::new();
    }
    let mut text = String::new();
    // What is no text has no rules.
    let _ = file.take(MAX_SIZE).read_to_string(&mut text);
    text.lines().take(RULES).map(str::to_owned).collect()
}
