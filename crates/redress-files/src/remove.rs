//! `files.remove`.

use std::{ffi::OsStr, io};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use redress::{Ctx, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    entry::EntryKind,
    failures::{Invalid, LookupFailure, PathFailure, StorageFailure},
    near,
    sandbox::{Sandbox, blocking, denied},
    temporary,
    wire_path::{MAX_DEPTH, WirePath},
};

/// What to remove.
#[data]
pub(crate) struct Remove {
    /// Relative to the served folder.
    pub(crate) path: String,
    /// Whether to remove a folder with everything in it.
    #[serde(default)]
    pub(crate) recursive: bool,
}

/// What has been removed.
#[data]
pub(crate) struct Removed {
    path: String,
    kind: EntryKind,
    /// How many files, folders and links are gone.
    removed: u64,
}

/// How removing may fail.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, LookupFailure, StorageFailure))]
pub(crate) enum RemoveFailure {
    /// The folder holds something.
    #[failure(kind = conflict, message = "{path} is not empty", effect = none,
              recover(call = "files.list", bind(path = path), why = "see what it holds",
                      hint = "Look at what it holds; `recursive` removes all of it."))]
    FolderNotEmpty { path: String },
    /// A part of the folder is gone, and the rest could not be removed.
    #[failure(kind = conflict, message = "{removed} entries of {path} are gone, the rest is not", effect = partial,
              recover(call = "files.list", bind(path = path), why = "see what is left",
                      hint = "Look at what is left and ask before going on."))]
    RemoveIncomplete {
        path: String,
        removed: u64,
        #[failure(private)]
        cause: String,
    },
}

/// Remove a file, a link or a folder, for good.
///
/// A folder has to be empty, unless `recursive` is said. A link is removed itself.
#[operation(
    mutation,
    name = "files.remove",
    access(scopes = "files:read files:write", consent),
    idempotency_key,
    verify(
        query = "files.check",
        bind(path = path),
        done = "/exists",
        is = false,
        why = "see whether it is gone",
        hint = "Look whether it is gone; remove it again if not."
    ),
    tags("files"),
    example(input = r#"{"path":"old","recursive":true}"#, output = r#"{"path":"old","kind":"folder","removed":3}"#),
    example(input = r#"{"path":"old"}"#, failure = "FOLDER_NOT_EMPTY")
)]
pub(crate) async fn remove(ctx: &Ctx, files: State<Files>, input: Remove) -> Outcome<Removed, RemoveFailure> {
    let path = files.sandbox.path(&input.path)?;
    if path.is_top() {
        return Err(PathFailure::invalid(Invalid::Top))?;
    }
    blocking(ctx, &files, move |sandbox, stop| {
        let turn = sandbox.changing();
        let ended = take_away(sandbox, &path, input.recursive, stop);
        // What would have helped is looked for while others may change files.
        drop(turn);
        ended.map_err(|fail| near::entries(fail, sandbox, &path, stop))
    })
    .await
}

/// Removes it. Whoever calls this has the turn to change something.
fn take_away(
    sandbox: &Sandbox,
    path: &WirePath,
    recursive: bool,
    stop: &CancellationToken,
) -> Outcome<Removed, RemoveFailure> {
    let name = path.name().as_ref();
    let parent = sandbox.dir().open_dir(path.folder().as_path()).map_err(|error| sandbox.refused(error, path))?;
    let found = parent.symlink_metadata(name).map_err(|error| sandbox.refused(error, path))?;
    let kind = EntryKind::of(found.file_type());
    let mut removing = Removing { removed: 0, recursive, stop };
    let gone = removing.entry(&parent, name, kind, path.names().count());
    let removed = removing.removed;
    let path_of = || path.as_str().to_owned();
    match gone {
        Ok(()) => Ok(Removed { path: path_of(), kind, removed }),
        Err(cause) if removed > 0 => {
            Err(RemoveFailure::RemoveIncomplete { path: path_of(), removed, cause: cause.to_string() })?
        }
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(RemoveFailure::FolderNotEmpty { path: path_of() })?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(sandbox.missing(path)),
        Err(error) => Err(denied(error, path)),
    }
}

struct Removing<'a> {
    removed: u64,
    recursive: bool,
    stop: &'a CancellationToken,
}

impl Removing<'_> {
    /// Removes one name of `folder`. A folder is gone into by its handle, so a link that takes
    /// its place meanwhile is removed and not followed.
    fn entry(&mut self, folder: &Dir, name: &OsStr, kind: EntryKind, depth: usize) -> io::Result<()> {
        if self.stop.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if kind == EntryKind::Folder {
            let inner = folder.open_dir_nofollow(name)?;
            temporary::sweep(&inner);
            // Deeper than any path can name, only one call can take it away.
            if self.recursive && depth > MAX_DEPTH {
                inner.remove_open_dir_all()?;
            } else {
                if self.recursive {
                    self.inside(&inner, depth)?;
                }
                drop(inner);
                folder.remove_dir(name)?;
            }
        } else {
            folder.remove_file_or_symlink(name)?;
        }
        self.removed += 1;
        Ok(())
    }

    fn inside(&mut self, folder: &Dir, depth: usize) -> io::Result<()> {
        let mut entries = folder.entries()?.collect::<io::Result<Vec<_>>>()?;
        // In the order in which they are listed, so that what is left is what would have come next.
        entries.sort_unstable_by_key(cap_std::fs::DirEntry::file_name);
        entries.iter().try_for_each(|entry| {
            let kind = EntryKind::of(entry.file_type()?);
            self.entry(folder, &entry.file_name(), kind, depth + 1)
        })
    }
}
