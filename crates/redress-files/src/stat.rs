//! `files.stat`.

use std::io::{self, Read};

use redress::{Ctx, Failure, Outcome, State, data, operation};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    entry::{EntryKind, modified_ms},
    failures::{LookupFailure, PathFailure},
    near,
    sandbox::{blocking, leads_out, unless_cancelled},
};

/// What to look at.
#[data]
pub(crate) struct Stat {
    /// Relative to the served folder.
    pub(crate) path: String,
    /// Whether to compute the SHA-256 of a file's content.
    #[serde(default)]
    pub(crate) hash: bool,
}

/// Where a link leads.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Leads {
    /// To a file in the folder.
    File,
    /// To a folder in the folder.
    Folder,
    /// To a pipe, socket or device in the folder.
    Special,
    /// Out of the folder; it cannot be followed.
    Outside,
    /// To nothing, or in a circle.
    Nowhere,
}

/// What is at a path.
#[data]
pub(crate) struct Looked {
    path: String,
    kind: EntryKind,
    /// The bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last changed, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_ms: Option<u64>,
    /// Whether its permissions forbid writing.
    read_only: bool,
    /// Where a link leads; never to what path.
    #[serde(skip_serializing_if = "Option::is_none")]
    leads_to: Option<Leads>,
    /// The SHA-256 of a file's content, in lower-case hex, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// How looking may fail.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, LookupFailure))]
pub(crate) enum StatFailure {
    /// A hash was asked for, and what is at the path is no regular file.
    #[failure(kind = validation, message = "{path} is no regular file and has no hash", effect = none,
              recover(fix_input = "/hash", hint = "Ask without `hash`, or for a file."))]
    NothingToHash { path: String },
}

/// Look at one file, folder or link.
///
/// Gives its kind, size, time and, if asked, the hash that `files.write` and `files.edit` take. A link is looked at itself.
#[operation(
    query,
    name = "files.stat",
    access(scopes = "files:read"),
    deadline = "60s",
    tags("files"),
    example(
        input = r#"{"path":"notes.md","hash":true}"#,
        output = r#"{"path":"notes.md","kind":"file","size":4,"read_only":false,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#
    ),
    example(input = r#"{"path":"note.md"}"#, failure = "FILE_NOT_FOUND")
)]
pub(crate) async fn stat(ctx: &Ctx, files: State<Files>, input: Stat) -> Outcome<Looked, StatFailure> {
    let path = files.sandbox.path(&input.path)?;
    blocking(ctx, &files, move |sandbox, stop| {
        let dir = sandbox.dir();
        let found = dir
            .symlink_metadata(path.as_path())
            .map_err(|error| near::entries(sandbox.refused(error, &path), sandbox, &path, stop))?;
        let kind = EntryKind::of(found.file_type());
        let leads_to = (kind == EntryKind::Link).then(|| leads(dir.metadata(path.as_path())));
        let is_file = kind == EntryKind::File || leads_to == Some(Leads::File);
        if input.hash && !is_file {
            return Err(StatFailure::NothingToHash { path: path.as_str().to_owned() })?;
        }
        let sha256 = if input.hash {
            Some(hash::<StatFailure>(sandbox.open_file::<StatFailure>(&path)?.0, stop)?)
        } else {
            None
        };
        Ok(Looked {
            path: path.as_str().to_owned(),
            kind,
            size: (kind == EntryKind::File).then(|| found.len()),
            modified_ms: modified_ms(&found),
            read_only: found.permissions().readonly(),
            leads_to,
            sha256,
        })
    })
    .await
}

fn leads(followed: io::Result<cap_std::fs::Metadata>) -> Leads {
    match followed.map(|metadata| EntryKind::of(metadata.file_type())) {
        Ok(EntryKind::File) => Leads::File,
        Ok(EntryKind::Folder) => Leads::Folder,
        Ok(EntryKind::Link | EntryKind::Special) => Leads::Special,
        Err(error) if leads_out(&error) => Leads::Outside,
        Err(_) => Leads::Nowhere,
    }
}

/// The SHA-256 of what is read from `source`, in lower-case hex.
pub(crate) fn hash<E: Failure>(mut source: impl Read, stop: &CancellationToken) -> Outcome<String, E> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        unless_cancelled(stop)?;
        let count = source.read(&mut buffer)?;
        match buffer.get(..count) {
            Some(read) if count > 0 => hasher.update(read),
            Some(_) | None => return Ok(redress_core::hex(&hasher.finalize())),
        }
    }
}

/// The SHA-256 of `bytes`, in lower-case hex.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    redress_core::hex(&Sha256::digest(bytes))
}
