//! `files.check`.
//!
//! Why so: docs/decisions/0061-files-check.md.

use std::{io, path::Path};

use redress::{Ctx, Fail, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files, atomic,
    entry::EntryKind,
    failures::{ContentFailure, PathFailure},
    read::Encoding,
    sandbox::{Sandbox, blocking, denied, reading},
    stat::{hash, hash_of},
    wire_path::WirePath,
    write::decoded,
};

/// What to compare with.
#[data]
pub(crate) struct Check {
    /// Relative to the served folder.
    pub(crate) path: String,
    /// What the file should hold.
    #[serde(default)]
    pub(crate) content: Option<String>,
    /// Whether the content is text or base64.
    #[serde(default)]
    pub(crate) encoding: Encoding,
    /// The SHA-256 that it should have.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub(crate) sha256: Option<String>,
    /// Where it should have been moved from.
    #[serde(default)]
    pub(crate) from: Option<String>,
}

/// What is there, compared with what should be.
#[data]
pub(crate) struct Checked {
    path: String,
    /// Whether anything is at the path.
    exists: bool,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<EntryKind>,
    /// Whether it is a file that holds what it should, if that was said; true only once the disk keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<bool>,
    /// Whether something is here and nothing at `from` any more, if that was said; true only once the disk keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<bool>,
}

/// How comparing may fail. That nothing is there is an answer, and no failure.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, ContentFailure))]
pub(crate) enum CheckFailure {
    /// Both the content and its hash were given.
    #[failure(kind = validation, effect = none,
              recover(fix_input = "/sha256", hint = "Give `content` or `sha256`, and not both of them."))]
    ExpectedTwice,
    /// It is as it should be, and the disk does not confirm that it keeps it.
    #[failure(kind = unavailable, retryable = false, message = "the disk does not confirm what is at {path}", effect = none,
              recover(ask_user, hint = "Ask for the disk and the folder's permissions to be looked at, then check again."))]
    CheckUnconfirmed {
        path: String,
        #[source]
        cause: io::Error,
    },
}

/// Say whether something is at a path and holds what it should.
///
/// It shows whether a change that was cut off took place. `same` compares with `content` or `sha256`, `moved` looks at
/// `from`; either once the disk has confirmed it.
#[operation(
    query,
    name = "files.check",
    access(scopes = "files:read"),
    deadline = "60s",
    max_input = "16mb",
    tags("files"),
    example(
        input = r#"{"path":"notes.md","content":"test"}"#,
        output = r#"{"path":"notes.md","exists":true,"kind":"file","same":true}"#
    ),
    example(input = r#"{"path":"note.md"}"#, output = r#"{"path":"note.md","exists":false}"#),
    example(input = r#"{"path":"../notes.md"}"#, failure = "PATH_OUTSIDE")
)]
pub(crate) async fn check(ctx: &Ctx, files: State<Files>, input: Check) -> Outcome<Checked, CheckFailure> {
    let path = files.sandbox.path(&input.path)?;
    let expected = match (input.content, input.sha256) {
        (Some(_), Some(_)) => return Err(CheckFailure::ExpectedTwice)?,
        (Some(content), None) => Some(hash_of(&decoded(content, input.encoding)?)),
        (None, sha256) => sha256,
    };
    let from = input.from.as_deref().map(|from| files.sandbox.path(from)).transpose()?;
    blocking(ctx, &files, move |sandbox, stop| {
        let found = sandbox.dir().symlink_metadata(path.as_path());
        let kind = there(found, &path)?.map(|found| EntryKind::of(found.file_type()));
        let same = expected.map(|expected| holds(sandbox, &path, &expected, stop)).transpose()?;
        let moved = from.map(|from| moved(sandbox, &from, kind.and(Some(&path)))).transpose()?;
        Ok(Checked { path: path.as_str().to_owned(), exists: kind.is_some(), kind, same, moved })
    })
    .await
}

/// Whether a file is at `path` whose content has this hash, on the disk.
fn holds(sandbox: &Sandbox, path: &WirePath, expected: &str, stop: &CancellationToken) -> Outcome<bool, CheckFailure> {
    // A pipe or a device is not opened.
    let Some(behind) = there(sandbox.dir().metadata(path.as_path()), path)? else { return Ok(false) };
    if !behind.is_file() {
        return Ok(false);
    }
    let Some(file) = there(sandbox.dir().open_with(path.as_path(), &reading()), path)? else { return Ok(false) };
    // What is open is what counts: the name may mean something else by now.
    if !file.metadata()?.is_file() || hash::<CheckFailure>(&file, stop)? != expected {
        return Ok(false);
    }
    // What was read may be in memory alone, and gone with the next power cut.
    let kept = file.sync_all().and_then(|()| sandbox.dir().canonicalize(path.as_path()));
    let kept = kept.and_then(|real| keep(sandbox, real.parent().unwrap_or(Path::new(""))));
    kept.map_err(|cause| unconfirmed(path, cause))?;
    Ok(true)
}

/// Whether nothing is at `from` any more, and something at `to`, on the disk.
fn moved(sandbox: &Sandbox, from: &WirePath, to: Option<&WirePath>) -> Outcome<bool, CheckFailure> {
    let left = there(sandbox.dir().symlink_metadata(from.as_path()), from)?;
    let (None, Some(to)) = (left, to) else { return Ok(false) };
    keep(sandbox, to.folder().as_path()).map_err(|cause| unconfirmed(to, cause))?;
    match keep(sandbox, from.folder().as_path()) {
        // The folder that it was in is gone as well, so its name there cannot come back.
        Err(error) if is_nothing(&error) => Ok(true),
        kept => kept.map(|()| true).map_err(|cause| unconfirmed(from, cause)),
    }
}

/// Has the disk keep the names in a folder.
fn keep(sandbox: &Sandbox, folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    sandbox.dir().open_dir(folder).and_then(|folder| atomic::sync(&folder))
}

fn unconfirmed(path: &WirePath, cause: io::Error) -> Fail<CheckFailure> {
    CheckFailure::CheckUnconfirmed { path: path.as_str().to_owned(), cause }.into()
}

/// What was found at `path`, where anything is.
fn there<T>(found: io::Result<T>, path: &WirePath) -> Outcome<Option<T>, CheckFailure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_nothing(&error) => Ok(None),
        Err(error) => Err(denied(error, path)),
    }
}

/// Whether an error says that nothing is there.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
