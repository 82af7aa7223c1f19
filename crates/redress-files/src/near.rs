//! What is near to a path at which nothing is. It may be anywhere in the tree, so all of it is looked through, the upper
//! folders first, as far as the bounds go; whoever calls this waits on a thread that may block, and holds no lock.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use cap_std::fs::Dir;
use redress::{Fail, Failure};
use tokio_util::sync::CancellationToken as Stop;

use crate::{ignored::Ignored, sandbox::Sandbox, wire_path::WirePath};

/// How many entries are looked at.
const ENTRIES: usize = 20_000;
/// How long it may take.
const TIME: Duration = Duration::from_millis(100);
/// How many pairs of letters are compared; past that, only names that are the same are near.
const COMPARED: usize = 1 << 22;
/// How many folders wait to be looked into, and how many near paths are held before only the nearest are kept: a path may
/// have 4 KiB.
const WAITING: usize = 4_096;
const HELD: usize = 256;
/// How much of a name is compared, in characters.
const MAX_LENGTH: usize = 128;
/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.86;
/// How much the rest of the path counts beside the name.
const REST: f64 = 0.1;

/// Says what is near to `path`, if no file is there.
pub(crate) fn entries<E: Failure>(fail: Fail<E>, sandbox: &Sandbox, path: &WirePath, stop: &Stop) -> Fail<E> {
    if fail.code() != Some("FILE_NOT_FOUND") {
        return fail;
    }
    let near = Nearby::of(path, sandbox, false).found(sandbox, stop);
    if near.is_empty() {
        return fail;
    }
    fail.with_nearest(near).with_hint("Take a path of `similar`, or list the folder and pick one.")
}

/// Says which folders are near to `path`, if no folder is there.
pub(crate) fn folders<E: Failure>(fail: Fail<E>, sandbox: &Sandbox, path: &WirePath, stop: &Stop) -> Fail<E> {
    let missing = matches!(fail.code(), Some("FOLDER_NOT_FOUND" | "TARGET_FOLDER_MISSING"));
    if missing { fail.with_nearest(Nearby::of(path, sandbox, true).found(sandbox, stop)) } else { fail }
}

/// Says what is near to `path`, where a folder was looked for and a file would have done as well.
pub(crate) fn either<E: Failure>(fail: Fail<E>, sandbox: &Sandbox, path: &WirePath, stop: &Stop) -> Fail<E> {
    let missing = fail.code() == Some("FOLDER_NOT_FOUND");
    if missing { fail.with_nearest(Nearby::of(path, sandbox, false).found(sandbox, stop)) } else { fail }
}

struct Nearby {
    /// The nearest folder above it that is there. Everything in it counts, hidden and ignored or not.
    folder: WirePath,
    /// The path, its last name, and the first of its names that is not there, in small letters.
    wanted: String,
    name: String,
    missing: String,
    hidden: bool,
    has_extension: bool,
    only_folders: bool,
    entries: usize,
    compared: usize,
    found: Vec<(f64, String)>,
}

impl Nearby {
    fn of(path: &WirePath, sandbox: &Sandbox, only_folders: bool) -> Nearby {
        let folder = sandbox.nearest_folder(path);
        let missing = path.names().nth(folder.names().count()).unwrap_or_default();
        Nearby {
            wanted: fold(path.as_str()),
            name: fold(path.name()),
            missing: fold(missing),
            hidden: path.name().starts_with('.'),
            has_extension: path.name().trim_start_matches('.').contains('.'),
            folder,
            only_folders,
            entries: ENTRIES,
            compared: COMPARED,
            found: Vec::new(),
        }
    }

    /// What is near, nearest first.
    fn found(mut self, sandbox: &Sandbox, stop: &Stop) -> Vec<String> {
        let end = Instant::now() + TIME;
        let folder = self.folder.clone();
        let open = |path: &WirePath| sandbox.dir().open_dir(path.as_path());
        if let Ok(opened) = open(&folder) {
            self.look(&opened, &folder, None, &mut |_| {});
        }
        let mut waiting = VecDeque::from([(WirePath::top(), Ignored::default())]);
        while let Some((path, mut ignored)) = waiting.pop_front() {
            if self.entries == 0 || stop.is_cancelled() || Instant::now() > end {
                break;
            }
            // A folder that is gone by now holds nothing.
            let Ok(opened) = open(&path) else { continue };
            ignored.enter(&opened, &path);
            self.look(&opened, &path, Some(&ignored), &mut |inner| {
                if waiting.len() < WAITING {
                    waiting.push_back((inner, ignored.clone()));
                }
            });
        }
        self.rank();
        self.found.into_iter().map(|(_, path)| path).collect()
    }

    /// Puts the nearest first, each once.
    fn rank(&mut self) {
        self.found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        self.found.dedup_by(|a, b| a.1 == b.1);
    }

    /// Looks at what is in one folder, and tells the folders in it.
    fn look(&mut self, opened: &Dir, path: &WirePath, ignored: Option<&Ignored>, tell: &mut dyn FnMut(WirePath)) {
        let Ok(entries) = opened.entries() else { return };
        for entry in entries.flatten() {
            if self.entries == 0 {
                return;
            }
            self.entries -= 1;
            let name = entry.file_name();
            let (Some(inner), Ok(kind)) = (name.to_str().and_then(|name| path.child(name)), entry.file_type()) else {
                continue;
            };
            if ignored.is_some_and(|ignored| self.left_out(&inner, kind.is_dir(), ignored)) {
                continue;
            }
            if kind.is_dir() || !self.only_folders {
                self.weigh(&inner, kind.is_dir(), *path == self.folder);
            }
            if kind.is_dir() {
                tell(inner);
            }
        }
    }

    fn left_out(&self, path: &WirePath, is_folder: bool, ignored: &Ignored) -> bool {
        (!self.hidden && path.name().starts_with('.')) || ignored.leave_out(path, is_folder)
    }

    fn weigh(&mut self, path: &WirePath, is_folder: bool, beside: bool) {
        let name = fold(path.name());
        // Who looks for `config.toml` does not mean the folder `conf`.
        let other = is_folder && !self.only_folders && self.has_extension && name != self.name;
        let mut alike = if other { 0.0 } else { self.alike(&self.name.clone(), &name) };
        if beside && self.missing != self.name {
            // The mistake may be in the name of a folder on the way.
            alike = self.alike(&self.missing.clone(), &name).max(alike);
        }
        if alike >= ALIKE {
            let rest = self.alike(&self.wanted.clone(), &fold(path.as_str()));
            self.found.push((alike + REST * rest, path.as_str().to_owned()));
            if self.found.len() > HELD {
                self.rank();
                self.found.truncate(HELD / 16);
            }
        }
    }

    fn alike(&mut self, wanted: &str, name: &str) -> f64 {
        if wanted == name {
            return 1.0;
        }
        self.compared = self.compared.saturating_sub(wanted.len() * name.len());
        if self.compared == 0 { 0.0 } else { strsim::jaro_winkler(wanted, name).min(0.99) }
    }
}

fn fold(name: &str) -> String {
    name.chars().take(MAX_LENGTH).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn near(files: &[&str], wanted: &str, only_folders: bool) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "*.tmp\n").unwrap();
        }
        let sandbox = Sandbox::open(folder.path()).unwrap();
        let path = WirePath::parse(wanted).unwrap();
        Nearby::of(&path, &sandbox, only_folders).found(&sandbox, &Stop::new())
    }

    #[test]
    fn a_name_is_found_wherever_it_is_and_before_what_only_looks_like_it() {
        let files = ["conf/x", "src/config.toml", "src/deep/config.yaml", "b/c/d/config.toml", "zzz.md"];
        assert_eq!(
            near(&files, "config.toml", false),
            ["src/config.toml", "b/c/d/config.toml", "src/deep/config.yaml"]
        );
        assert_eq!(near(&files, "src/Config.toml", false)[0], "src/config.toml");
        assert_eq!(near(&files, "etc/confg.toml", false)[0], "src/config.toml");
        assert!(near(&files, "server.log", false).is_empty());
    }

    #[test]
    fn a_mistake_in_a_folder_leads_to_the_file_or_else_to_the_folder() {
        let files = ["notes/plan.md", "notes/other.txt", "src/plan.rs"];
        assert_eq!(near(&files, "nots/plan.md", false)[..2], ["notes/plan.md", "notes"]);
        assert_eq!(near(&files, "nots/new.md", false), ["notes"]);
        assert_eq!(near(&files, "deep/notes", true), ["notes"]);
        assert!(near(&files, "plan.md", true).is_empty(), "only folders");
    }

    #[test]
    fn what_is_hidden_or_ignored_is_near_only_where_it_was_looked_for() {
        let files = [".gitignore", "a/b.tmp", ".cache/notes.md", "d/.env.local", ".git/notes.md"];
        assert!(near(&files, "b.tmp", false).is_empty() && near(&files, "notes.md", false).is_empty());
        assert_eq!(near(&files, "a/bb.tmp", false), ["a/b.tmp"]);
        assert_eq!(near(&files, ".env.local", false), ["d/.env.local"]);
        assert_eq!(near(&files, ".cache/note.md", false)[0], ".cache/notes.md");
    }

    #[test]
    fn a_large_tree_is_looked_at_from_above_and_only_so_far() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..30 {
            let inner = folder.path().join(format!("a{n}/b"));
            fs::create_dir_all(&inner).unwrap();
            for m in 0..30 {
                fs::write(inner.join(format!("{m}")), "").unwrap();
            }
        }
        fs::create_dir(folder.path().join("z")).unwrap();
        fs::write(folder.path().join("z/wanted.md"), "").unwrap();
        fs::write(folder.path().join("a0/b/wanted.md"), "").unwrap();
        let sandbox = Sandbox::open(folder.path()).unwrap();
        let path = WirePath::parse("wanted.md").unwrap();
        let mut nearby = Nearby::of(&path, &sandbox, false);
        // Once for what is beside it, and once in its turn; then what is in each of those.
        nearby.entries = 31 + 31 + 31;
        assert_eq!(nearby.found(&sandbox, &Stop::new()), ["z/wanted.md"]);
        let stopped = Stop::new();
        stopped.cancel();
        assert!(Nearby::of(&path, &sandbox, false).found(&sandbox, &stopped).is_empty());
        let mut nearby = Nearby::of(&WirePath::parse("wantid.md").unwrap(), &sandbox, false);
        nearby.compared = 1;
        assert!(nearby.found(&sandbox, &Stop::new()).is_empty());
    }
}
