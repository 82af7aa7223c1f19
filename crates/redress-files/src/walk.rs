//! Going through a folder and what is below it, by handles and never through a link.

use std::{ffi::OsStr, io};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;

use crate::{
    entry::EntryKind,
    temporary,
    wire_path::{MAX_DEPTH, WirePath},
};

/// How many entries one walk looks at. A folder larger than that is told as cut short.
const LOOKED_AT: u64 = 200_000;

/// What is met on the way.
pub(crate) struct Met<'a> {
    /// The handle of the folder that it is in.
    pub(crate) folder: &'a Dir,
    pub(crate) name: &'a OsStr,
    pub(crate) path: &'a WirePath,
    pub(crate) kind: EntryKind,
}

/// Where to go next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkStep {
    /// On, and into it if it is a folder.
    Into,
    /// On, but not into it.
    Over,
    /// Nowhere.
    End,
}

/// Who goes through.
pub(crate) trait Visitor {
    /// A folder is entered.
    fn enter(&mut self, _folder: &Dir, _path: &WirePath) {}
    /// The last folder entered is left.
    fn leave(&mut self) {}
    /// Something is met. Siblings come sorted by name.
    fn meet(&mut self, met: &Met<'_>) -> WalkStep;
}

/// What a walk could not tell its visitor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walked {
    /// Names that callers could not write as a path.
    pub(crate) unnamed: u64,
    /// Folders that could not be opened.
    pub(crate) unreadable: u64,
    /// Whether it ended before everything was seen, for being too much.
    pub(crate) cut: bool,
}

/// Goes through `folder`, which is at `path`.
pub(crate) fn walk(
    folder: &Dir,
    path: &WirePath,
    stop: &CancellationToken,
    visitor: &mut dyn Visitor,
) -> io::Result<Walked> {
    let mut walk = FolderWalk { stop, visitor, left: LOOKED_AT, walked: Walked::default() };
    walk.through(folder, path)?;
    Ok(walk.walked)
}

struct FolderWalk<'a> {
    stop: &'a CancellationToken,
    visitor: &'a mut dyn Visitor,
    left: u64,
    walked: Walked,
}

impl FolderWalk<'_> {
    /// Whether to go on after this folder.
    fn through(&mut self, folder: &Dir, path: &WirePath) -> io::Result<bool> {
        let mut names = Vec::new();
        for entry in folder.entries()? {
            if self.left == 0 || self.stop.is_cancelled() {
                self.walked.cut = true;
                break;
            }
            self.left -= 1;
            let entry = entry?;
            let name = entry.file_name();
            if temporary::is_temporary_entry(&name) {
                continue;
            }
            match (name.to_str().and_then(|name| path.child(name)), entry.file_type()) {
                (Some(path), Ok(kind)) => names.push((name, path, EntryKind::of(kind))),
                // Gone since, or of a name that nobody could ask for.
                (Some(_), Err(_)) => {}
                (None, _) => self.walked.unnamed += 1,
            }
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.visitor.enter(folder, path);
        let on = names.iter().all(|(name, path, kind)| self.meet(folder, name, path, *kind));
        self.visitor.leave();
        Ok(on && !self.walked.cut)
    }

    fn meet(&mut self, folder: &Dir, name: &OsStr, path: &WirePath, kind: EntryKind) -> bool {
        if self.stop.is_cancelled() {
            self.walked.cut = true;
            return false;
        }
        match self.visitor.meet(&Met { folder, name, path, kind }) {
            WalkStep::End => false,
            WalkStep::Over => true,
            WalkStep::Into if kind != EntryKind::Folder || path.names().count() >= MAX_DEPTH => true,
            WalkStep::Into => match folder.open_dir_nofollow(name).and_then(|folder| self.through(&folder, path)) {
                Ok(on) => on,
                Err(_) => {
                    self.walked.unreadable += 1;
                    true
                }
            },
        }
    }
}
