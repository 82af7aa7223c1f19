//! `files.check`.

use std::io;

use redress::{Ctx, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
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
    pub(crate) path: String,
    /// The content that the file should hold.
    #[serde(default)]
    pub(crate) content: Option<String>,
    /// Whether the content is text or base64.
    #[serde(default)]
    pub(crate) encoding: Encoding,
    /// The SHA-256 that the content of the file should have.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub(crate) sha256: Option<String>,
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
    /// Whether it is a file that holds what it should, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<bool>,
}

/// How comparing may fail. That nothing is there is an answer, and no failure.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, ContentFailure))]
pub(crate) enum CheckFailure {
    /// Both the content and its hash were given.
    #[failure(kind = validation, effect = none,
              recover(fix_input = "/sha256", hint = "Give `content` or `sha256`, and not both of them."))]
    ExpectedTwice,
}

/// Say whether something is at a path, and whether it holds what it should.
///
/// This shows whether a change took place that ended without saying so: whatever is there, it answers, and does not
/// fail where nothing is. `same` compares the content with `content` or with `sha256`.
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
    let path = WirePath::parse(&input.path)?;
    let expected = match (input.content, input.sha256) {
        (Some(_), Some(_)) => return Err(CheckFailure::ExpectedTwice)?,
        (Some(content), None) => Some(hash_of(&decoded(content, input.encoding)?)),
        (None, sha256) => sha256,
    };
    blocking(ctx, &files, move |sandbox, stop| {
        let found = sandbox.dir().symlink_metadata(path.as_path());
        let kind = there(found, &path)?.map(|found| EntryKind::of(found.file_type()));
        let same = expected.map(|expected| holds(sandbox, &path, &expected, stop)).transpose()?;
        Ok(Checked { path: path.as_str().to_owned(), exists: kind.is_some(), kind, same })
    })
    .await
}

/// Whether a file is at `path` whose content has this hash.
fn holds(sandbox: &Sandbox, path: &WirePath, expected: &str, stop: &CancellationToken) -> Outcome<bool, CheckFailure> {
    // A pipe or a device is not opened.
    let Some(behind) = there(sandbox.dir().metadata(path.as_path()), path)? else { return Ok(false) };
    if !behind.is_file() {
        return Ok(false);
    }
    let Some(file) = there(sandbox.dir().open_with(path.as_path(), &reading()), path)? else { return Ok(false) };
    // What is open is what counts: the name may mean something else by now.
    Ok(file.metadata()?.is_file() && hash::<CheckFailure>(file, stop)? == expected)
}

/// What was found at `path`, where anything is.
fn there<T>(found: io::Result<T>, path: &WirePath) -> Outcome<Option<T>, CheckFailure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(denied(error, path)),
    }
}
