//! What a watcher has seen in the folder, so that it tells of nothing else.
//!
//! The operating system watches by path, and a path can be made to mean another place for a
//! moment. So its events only say where to look: what is told is what the folder handle finds
//! there, or what it had found there before.

use std::{collections::BTreeMap, io};

use cap_std::fs::Dir;
use redress::data;
use tokio_util::sync::CancellationToken;

use crate::{
    entry::EntryKind,
    walk::{Met, Visitor, WalkStep, walk},
    wire_path::WirePath,
};

/// How many entries a watched folder may have.
pub(crate) const MAX: usize = 100_000;

/// What happened.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Happened {
    /// It is there now.
    Created,
    /// Its content or its permissions are others now.
    Modified,
    /// It is gone.
    Removed,
    /// Too much happened at once, and some of it was not seen: list the folder again.
    Lost,
}

/// One change.
#[data]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) change: Happened,
    pub(crate) kind: EntryKind,
}

/// What has been seen.
pub(crate) struct FolderSnapshot {
    path: WirePath,
    recursive: bool,
    entries: BTreeMap<String, EntryKind>,
}

/// That there is more than can be watched.
#[derive(Debug)]
pub(crate) enum SeeError {
    TooMuch,
    Io(io::Error),
}

impl FolderSnapshot {
    /// Sees everything in `folder`, which is at `path`.
    pub(crate) fn new(
        folder: &Dir,
        path: &WirePath,
        recursive: bool,
        stop: &CancellationToken,
    ) -> Result<FolderSnapshot, SeeError> {
        let mut seen = FolderSnapshot { path: path.clone(), recursive, entries: BTreeMap::new() };
        seen.look_through(folder, path, stop)?;
        Ok(seen)
    }

    /// How many entries have been seen.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn look_through(
        &mut self,
        folder: &Dir,
        path: &WirePath,
        stop: &CancellationToken,
    ) -> Result<Vec<FileChange>, SeeError> {
        let mut looking = Looking { seen: self, fresh: Vec::new() };
        let walked = walk(folder, path, stop, &mut looking).map_err(SeeError::Io)?;
        let fresh = looking.fresh;
        if walked.cut || self.entries.len() > MAX { Err(SeeError::TooMuch) } else { Ok(fresh) }
    }

    /// Looks at `path` in the watched folder again, and says what has happened there. `dir` is
    /// the top, where paths begin.
    pub(crate) fn look(
        &mut self,
        dir: &Dir,
        path: &WirePath,
        stop: &CancellationToken,
    ) -> Result<Vec<FileChange>, SeeError> {
        if *path == self.path || (!self.recursive && path.folder() != self.path) {
            return Ok(Vec::new());
        }
        let known = self.entries.get(path.as_str()).copied();
        let found = dir.symlink_metadata(path.as_path()).ok().map(|metadata| EntryKind::of(metadata.file_type()));
        let change = |change, kind| FileChange { path: path.as_str().to_owned(), change, kind };
        Ok(match (known, found) {
            (Some(was), Some(is)) if was == is && is == EntryKind::Folder => Vec::new(),
            (Some(was), Some(is)) if was == is => vec![change(Happened::Modified, is)],
            (Some(_), Some(_)) => {
                let mut changes = self.forget(path);
                changes.extend(self.learn(dir, path, stop)?);
                changes
            }
            (None, Some(_)) => self.learn(dir, path, stop)?,
            (Some(_), None) => self.forget(path),
            (None, None) => Vec::new(),
        })
    }

    /// It is there: so is what is in it.
    fn learn(&mut self, dir: &Dir, path: &WirePath, stop: &CancellationToken) -> Result<Vec<FileChange>, SeeError> {
        let Ok(metadata) = dir.symlink_metadata(path.as_path()) else { return Ok(Vec::new()) };
        let kind = EntryKind::of(metadata.file_type());
        self.entries.insert(path.as_str().to_owned(), kind);
        let mut changes = vec![FileChange { path: path.as_str().to_owned(), change: Happened::Created, kind }];
        if kind == EntryKind::Folder
            && self.recursive
            && let Ok(folder) = dir.open_dir(path.as_path())
        {
            changes.extend(self.look_through(&folder, path, stop)?);
        }
        Ok(changes)
    }

    /// It is gone: so is what was in it.
    fn forget(&mut self, path: &WirePath) -> Vec<FileChange> {
        let (own, below) = (path.as_str().to_owned(), format!("{}/", path.as_str()));
        let gone: Vec<String> = self
            .entries
            .range(own.clone()..)
            .map(|(path, _)| path)
            // Between a name and what is below it come names that go on otherwise, as `a-b`.
            .take_while(|path| path.starts_with(&own))
            .filter(|path| **path == own || path.starts_with(&below))
            .cloned()
            .collect();
        gone.into_iter()
            .filter_map(|path| {
                let kind = self.entries.remove(&path)?;
                Some(FileChange { path, change: Happened::Removed, kind })
            })
            .collect()
    }
}

/// Takes in what was not seen before.
struct Looking<'a> {
    seen: &'a mut FolderSnapshot,
    fresh: Vec<FileChange>,
}

impl Visitor for Looking<'_> {
    fn meet(&mut self, met: &Met<'_>) -> WalkStep {
        if self.seen.entries.insert(met.path.as_str().to_owned(), met.kind).is_none() {
            self.fresh.push(FileChange {
                path: met.path.as_str().to_owned(),
                change: Happened::Created,
                kind: met.kind,
            });
        }
        if self.seen.entries.len() > MAX {
            WalkStep::End
        } else if self.seen.recursive {
            WalkStep::Into
        } else {
            WalkStep::Over
        }
    }
}
