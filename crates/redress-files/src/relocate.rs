//! `files.move`. The word is taken in Rust, so the file and function are named for what it does.

use std::{collections::BTreeMap, io};

use cap_std::fs::Dir;
use redress::{Ctx, Fail, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    atomic::{self, Over},
    entry::EntryKind,
    failures::{Invalid, LookupFailure, PathFailure, StorageFailure},
    near,
    sandbox::{Sandbox, blocking, denied, leads_out, unless_cancelled},
    store::open_or_make,
    wire_path::WirePath,
};

/// What to move, and where to.
#[data]
pub(crate) struct Move {
    /// Relative to the served folder.
    pub(crate) path: String,
    /// The new path, with the new name; not the folder to move it into.
    pub(crate) to: String,
    /// Whether a file at the new path may be replaced.
    #[serde(default)]
    pub(crate) replace: bool,
    /// Whether to make missing folders.
    #[serde(default)]
    pub(crate) make_folders: bool,
}

/// What has been moved.
#[data]
pub(crate) struct Moved {
    path: String,
    to: String,
    kind: EntryKind,
}

/// Why something cannot be moved there.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MoveRefusal {
    /// The new path leads out of the folder.
    Outside,
    /// The new path is not written as a path.
    Invalid,
    /// The new path lies in the folder that is moved.
    InsideItself,
    /// The new path is on another disk; what is there has to be written anew.
    OtherDisk,
    /// A folder is at the new path, or a folder should replace a file.
    Folder,
}

/// How moving may fail. Nothing has been moved then, unless the failure says so.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, LookupFailure, StorageFailure))]
pub(crate) enum MoveFailure {
    /// The new path cannot be moved to.
    #[failure(kind = validation, message = "it cannot be moved there ({reason})", effect = none,
              recover(fix_input = "/to", hint = "Give another new path inside the folder, relative, with `/`."))]
    TargetRefused { reason: MoveRefusal },
    /// Something is at the new path already.
    #[failure(kind = conflict, message = "{to} exists already", effect = none,
              recover(fix_input = "/to", hint = "Give another new path, or `replace: true` to overwrite the file there."))]
    TargetExists { to: String },
    /// The folder of the new path does not exist.
    #[failure(kind = not_found, message = "no folder at {folder}", effect = none,
              recover(fix_input = "/make_folders", hint = "Give `make_folders: true` to have them made, or a folder that exists."))]
    TargetFolderMissing { folder: String },
    /// It was moved, and the disk did not confirm that it keeps that.
    #[failure(kind = unavailable, message = "{path} was moved, and the disk did not confirm it", effect = unknown,
              recover(verify = "files.check", bind(path = to, from = path), done = "/moved", is = true,
                      why = "see whether it is at the new path, and have the disk confirm it",
                      hint = "Look whether the disk has it at the new path by now; move it again if not."))]
    MoveUnconfirmed {
        path: String,
        to: String,
        #[source]
        cause: io::Error,
    },
}

/// Move or rename a file, a folder or a link.
///
/// What is at the new path stays, unless `replace` is said and both are files. A link is moved itself.
#[operation(
    mutation,
    name = "files.move",
    access(scopes = "files:read files:write"),
    idempotency_key,
    verify(
        query = "files.check",
        bind(path = to, from = path),
        done = "/moved",
        is = true,
        why = "see whether it is at the new path, and no longer at the old",
        hint = "Look whether it is at the new path, and no longer at the old; move it again if not."
    ),
    tags("files"),
    example(
        input = r#"{"path":"notes.md","to":"old/notes.md","make_folders":true}"#,
        output = r#"{"path":"notes.md","to":"old/notes.md","kind":"file"}"#
    ),
    example(input = r#"{"path":"notes.md","to":"plan.md"}"#, failure = "TARGET_EXISTS")
)]
pub(crate) async fn relocate(ctx: &Ctx, files: State<Files>, input: Move) -> Outcome<Moved, MoveFailure> {
    let path = files.sandbox.path(&input.path)?;
    if path.is_top() {
        return Err(PathFailure::invalid(Invalid::Top))?;
    }
    let to = files.sandbox.path(&input.to).map_err(|failure| {
        refuse(match failure {
            PathFailure::PathOutside { .. } => MoveRefusal::Outside,
            PathFailure::PathInvalid { .. } | PathFailure::FilePermissionDenied { .. } => MoveRefusal::Invalid,
        })
    })?;
    blocking(ctx, &files, move |sandbox, stop| {
        let turn = sandbox.changing();
        let ended = put(sandbox, &path, &to, &input, stop);
        // What would have helped is looked for while others may change files.
        drop(turn);
        ended
            .map_err(|fail| near::entries(fail, sandbox, &path, stop))
            .map_err(|fail| near::folders(fail, sandbox, &to.folder(), stop))
            .map_err(|fail| into_folder(fail, sandbox, &path, &to))
    })
    .await
}

/// Moves it. Whoever calls this has the turn to change something.
fn put(
    sandbox: &Sandbox,
    path: &WirePath,
    to: &WirePath,
    input: &Move,
    stop: &CancellationToken,
) -> Outcome<Moved, MoveFailure> {
    let from = sandbox.dir().open_dir(path.folder().as_path()).map_err(|error| sandbox.refused(error, path))?;
    let found = from.symlink_metadata(path.name()).map_err(|error| sandbox.refused(error, path))?;
    let kind = EntryKind::of(found.file_type());
    if to.is_top() {
        return Err(refuse(MoveRefusal::Folder));
    }
    if kind == EntryKind::Folder && path.holds(to) {
        return Err(refuse(MoveRefusal::InsideItself));
    }
    let folder = folder(sandbox, to, input.make_folders)?;
    let over = over(&folder, to, kind, input.replace)?;
    // A caller that has gone, or whose time is over, may have looked already whether it was moved.
    unless_cancelled(stop)?;
    atomic::rename(&from, path.name(), &folder, to.name().as_ref(), over)
        .map_err(|error| not_moved(error, path, to))?;
    let (path, to) = (path.as_str().to_owned(), to.as_str().to_owned());
    match atomic::sync(&folder).and_then(|()| atomic::sync(&from)) {
        Ok(()) => Ok(Moved { path, to, kind }),
        Err(cause) => Err(MoveFailure::MoveUnconfirmed { path, to, cause })?,
    }
}

/// Says the path within the folder, where a folder was given as the new path and it can be moved there.
fn into_folder(fail: Fail<MoveFailure>, sandbox: &Sandbox, path: &WirePath, to: &WirePath) -> Fail<MoveFailure> {
    let there = match fail.failure() {
        Some(MoveFailure::TargetExists { .. } | MoveFailure::TargetRefused { reason: MoveRefusal::Folder }) => to,
        Some(_) | None => return fail,
    };
    let Some(inside) = there.child(path.name()).filter(|inside| !path.holds(inside)) else { return fail };
    let dir = sandbox.dir();
    if !dir.symlink_metadata(there.as_path()).is_ok_and(|there| there.is_dir())
        || dir.symlink_metadata(inside.as_path()).is_ok()
    {
        return fail;
    }
    let next = BTreeMap::from([("path", path.as_str()), ("to", inside.as_str())]);
    fail.with_hint(format!("{} is a folder: give `{}` to move it in there.", there.as_str(), inside.as_str()))
        .with_next_action("files.move", &next, "move it into the folder")
}

fn refuse(reason: MoveRefusal) -> Fail<MoveFailure> {
    MoveFailure::TargetRefused { reason }.into()
}

/// The folder of the new path.
fn folder(sandbox: &Sandbox, to: &WirePath, make: bool) -> Outcome<Dir, MoveFailure> {
    let parent = to.folder();
    open_or_make(sandbox, parent.as_path(), make).map_err(|error| {
        let kind = error.kind();
        if leads_out(&error) {
            refuse(MoveRefusal::Outside)
        } else if kind == io::ErrorKind::NotFound {
            MoveFailure::TargetFolderMissing { folder: parent.as_str().to_owned() }.into()
        } else if matches!(kind, io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists) {
            refuse(MoveRefusal::Invalid)
        } else {
            denied(error, &parent)
        }
    })
}

/// What may be at the new name: a file that a file replaces, or nothing.
fn over(folder: &Dir, to: &WirePath, kind: EntryKind, replace: bool) -> Outcome<Over, MoveFailure> {
    let Ok(there) = folder.symlink_metadata(to.name()) else { return Ok(Over::Nothing) };
    if !replace {
        return Err(MoveFailure::TargetExists { to: to.as_str().to_owned() }.into());
    }
    let there = EntryKind::of(there.file_type());
    if kind == EntryKind::Folder || there == EntryKind::Folder {
        return Err(refuse(MoveRefusal::Folder));
    }
    Ok(Over::Anything)
}

fn not_moved(error: io::Error, path: &WirePath, to: &WirePath) -> Fail<MoveFailure> {
    let kind = error.kind();
    if kind == io::ErrorKind::AlreadyExists {
        MoveFailure::TargetExists { to: to.as_str().to_owned() }.into()
    } else if kind == io::ErrorKind::CrossesDevices {
        refuse(MoveRefusal::OtherDisk)
    } else if matches!(kind, io::ErrorKind::IsADirectory | io::ErrorKind::DirectoryNotEmpty) {
        refuse(MoveRefusal::Folder)
    } else if kind == io::ErrorKind::InvalidInput {
        refuse(MoveRefusal::InsideItself)
    } else {
        denied(error, path)
    }
}
