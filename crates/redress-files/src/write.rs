//! `files.write`.

use std::io;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use redress::{Ctx, Fail, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    atomic::{self, Over, Unwritten},
    failures::{
        ChangedFailure, ContentFailure, FileFailure, LookupFailure, NotFolderFailure, PathFailure, StorageFailure,
        UnconfirmedFailure,
    },
    near,
    read::Encoding,
    sandbox::{Sandbox, blocking, denied},
    stat::{hash, hash_of},
    store::{TargetPath, place},
    wire_path::WirePath,
};

/// What may be there already.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Nothing: an existing file is not touched.
    Create,
    /// Anything: an existing file is replaced.
    Replace,
    /// A file with the content whose SHA-256 is given, and no other.
    ExpectedHash,
}

/// What to write.
#[data]
pub(crate) struct Write {
    /// Relative to the served folder.
    pub(crate) path: String,
    /// The whole new content.
    pub(crate) content: String,
    /// Whether the content is text or base64.
    #[serde(default)]
    pub(crate) encoding: Encoding,
    pub(crate) mode: Mode,
    /// For `expected_hash`: the SHA-256 of what the file holds.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub(crate) sha256: Option<String>,
    /// Whether to make missing folders.
    #[serde(default)]
    pub(crate) make_folders: bool,
}

/// What has been written.
#[data]
pub(crate) struct Written {
    path: String,
    /// Whether there was no file before.
    created: bool,
    /// How many bytes it holds.
    size: u64,
    /// The SHA-256 of what it holds.
    sha256: String,
}

/// How writing may fail. Nothing has been changed then, unless the failure says so.
#[derive(Debug, Failure)]
#[failure(include(
    PathFailure,
    LookupFailure,
    NotFolderFailure,
    FileFailure,
    StorageFailure,
    ChangedFailure,
    ContentFailure,
    UnconfirmedFailure
))]
pub(crate) enum WriteFailure {
    /// A file is there already, and it was to be created.
    #[failure(kind = conflict, message = "{path} exists already, and the mode is `create`", effect = none,
              recover(fix_input = "/mode",
                      hint = "Give the mode `replace` to overwrite it, or take another path."))]
    FileExists { path: String },
    /// The folder that the file should be in does not exist.
    #[failure(kind = not_found, message = "no folder at {path}", effect = none,
              recover(fix_input = "/make_folders",
                      hint = "Give `make_folders: true` to have it made, or a folder that exists."))]
    FolderNotFound { path: String },
    /// The hash that the file should have was not given, or was given with another mode.
    #[failure(kind = validation, effect = none,
              recover(fix_input = "/sha256", hint = "Give `sha256` with the mode `expected_hash`, and only then."))]
    HashMisplaced,
}

/// Write a whole file, at once or not at all.
///
/// To change a part, use `files.edit`.
#[operation(
    mutation,
    name = "files.write",
    access(scopes = "files:read files:write"),
    idempotency_key,
    verify(
        query = "files.check",
        bind(path = path, content = content, encoding = encoding),
        done = "/same",
        is = true,
        why = "see whether it holds the content",
        hint = "Look whether the file holds the content; write it again if not."
    ),
    max_input = "16mb",
    tags("files"),
    example(input = r#"{"path":"notes.md","content":"One line.\n","mode":"create"}"#, failure = "FILE_EXISTS"),
    example(
        input = r#"{"path":"notes.md","content":"test","mode":"replace"}"#,
        output = r#"{"path":"notes.md","created":false,"size":4,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#
    )
)]
pub(crate) async fn write(ctx: &Ctx, files: State<Files>, input: Write) -> Outcome<Written, WriteFailure> {
    let path = files.sandbox.path(&input.path)?;
    if input.sha256.is_some() != (input.mode == Mode::ExpectedHash) {
        return Err(WriteFailure::HashMisplaced)?;
    }
    let contents = decoded(input.content, input.encoding)?;
    let wanted = WriteOptions { mode: input.mode, sha256: input.sha256, make_folders: input.make_folders };
    blocking(ctx, &files, move |sandbox, stop| {
        let turn = sandbox.changing();
        let ended = put(sandbox, &path, &contents, &wanted, stop);
        // What would have helped is looked for while others may change files.
        drop(turn);
        ended
            .map_err(|fail| near::entries(fail, sandbox, &path, stop))
            .map_err(|fail| near::folders(fail, sandbox, &path.folder(), stop))
    })
    .await
}

/// What is wanted of a write, beside the content.
struct WriteOptions {
    mode: Mode,
    sha256: Option<String>,
    make_folders: bool,
}

/// Writes the file. Whoever calls this has the turn to change something.
fn put(
    sandbox: &Sandbox,
    path: &WirePath,
    contents: &[u8],
    wanted: &WriteOptions,
    stop: &CancellationToken,
) -> Outcome<Written, WriteFailure> {
    let no_folder = |folder: WirePath| WriteFailure::FolderNotFound { path: folder.as_str().to_owned() }.into();
    let place = place(sandbox, path, wanted.make_folders, no_folder)?;
    if let Some(expected) = &wanted.sha256 {
        expect(sandbox, path, expected, stop)?;
    }
    let over = if wanted.mode == Mode::Create { Over::Nothing } else { Over::Anything };
    store(&place, path, contents, over, stop)?;
    Ok(Written {
        path: path.as_str().to_owned(),
        created: place.existing.is_none(),
        size: u64::try_from(contents.len())?,
        sha256: hash_of(contents),
    })
}

/// The bytes of content that is given.
pub(crate) fn decoded(content: String, encoding: Encoding) -> Result<Vec<u8>, ContentFailure> {
    match encoding {
        Encoding::Text => Ok(content.into_bytes()),
        Encoding::Base64 => BASE64_STANDARD.decode(&content).map_err(|_| ContentFailure::ContentNotBase64),
    }
}

/// Makes sure that the file holds what the caller expects.
fn expect(sandbox: &Sandbox, path: &WirePath, expected: &str, stop: &CancellationToken) -> Outcome<(), WriteFailure> {
    let found = hash::<WriteFailure>(sandbox.open_file::<WriteFailure>(path)?.0, stop)?;
    if found == expected {
        return Ok(());
    }
    Err(ChangedFailure::FileChanged { path: path.as_str().to_owned(), sha256: found })?
}

/// Puts `contents` in its place.
pub(crate) fn store<E: Failure>(
    place: &TargetPath,
    path: &WirePath,
    contents: &[u8],
    over: Over,
    stop: &CancellationToken,
) -> Outcome<(), E> {
    // A caller that has gone, or whose time is over, will not learn that it was written.
    let go = || if stop.is_cancelled() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) };
    atomic::write(&place.folder, &place.name, contents, over, place.existing.as_ref(), go).map_err(|unwritten| {
        let error = match unwritten {
            Unwritten::Unchanged(error) => error,
            Unwritten::Unconfirmed(cause) => {
                let (path, sha256) = (path.as_str().to_owned(), hash_of(contents));
                return UnconfirmedFailure::WriteUnconfirmed { path, sha256, cause }.into();
            }
        };
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Fail::from(WriteFailure::FileExists { path: path.as_str().to_owned() });
        }
        if error.kind() == io::ErrorKind::IsADirectory {
            return FileFailure::of(path, true).into();
        }
        denied(error, path)
    })
}
