//! `files.list`.

use redress::{Ctx, Failure, Outcome, State, data, operation};

use crate::{
    Files,
    entry::{EntryKind, modified_ms},
    failures::{FolderFailure, PathFailure},
    near,
    sandbox::{blocking, denied},
    walk::{Met, Visitor, WalkStep, walk},
    wire_path::WirePath,
};

/// About how much memory one entry takes, its part of the answer included.
const ENTRY: usize = 256;

/// What to list.
#[data]
pub(crate) struct List {
    /// The folder, relative to the served one; `.` or `/` is the top.
    #[serde(default = "top")]
    pub(crate) path: String,
    /// How many levels deep; 1 lists the folder alone.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub(crate) depth: u32,
    /// How many entries.
    #[serde(default = "thousand")]
    #[schemars(range(min = 1, max = 10000))]
    pub(crate) limit: u32,
    /// Go on after this entry: the `next` of the page before.
    #[serde(default)]
    pub(crate) after: Option<String>,
}

pub(crate) fn top() -> String {
    ".".to_owned()
}

fn one() -> u32 {
    1
}

fn thousand() -> u32 {
    1_000
}

/// One entry.
#[data]
pub(crate) struct Entry {
    path: String,
    kind: EntryKind,
    /// The bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last changed, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_ms: Option<u64>,
}

/// What a folder holds.
#[data]
pub(crate) struct Listing {
    path: String,
    /// Sorted by name; what is in a folder follows the folder.
    entries: Vec<Entry>,
    /// Whether there is more than was listed.
    truncated: bool,
    /// Where to go on: give it as `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many names cannot be written as a path and were left out.
    unnamed: u64,
    /// How many folders could not be opened and were not gone into.
    unreadable: u64,
}

/// How listing may fail.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, FolderFailure))]
pub(crate) enum ListFailure {
    /// The place to go on after is not written as a path.
    #[failure(kind = validation, effect = none,
              recover(fix_input = "/after", hint = "Give the `next` of the page before."))]
    AfterInvalid,
}

/// List what a folder holds.
///
/// Page by page. Links are not gone into.
#[operation(
    query,
    name = "files.list",
    access(scopes = "files:read"),
    tags("files"),
    example(
        input = r#"{"path":".","depth":2}"#,
        output = r#"{"path":".","entries":[{"path":"notes.md","kind":"file","size":4}],"truncated":false,"unnamed":0,"unreadable":0}"#
    ),
    example(input = r#"{"path":"nots"}"#, failure = "FOLDER_NOT_FOUND")
)]
pub(crate) async fn list(ctx: &Ctx, files: State<Files>, input: List) -> Outcome<Listing, ListFailure> {
    let path = files.sandbox.path(&input.path)?;
    let after = input.after.as_deref().map(WirePath::parse).transpose().map_err(|_| ListFailure::AfterInvalid)?;
    ctx.reserve(usize::try_from(input.limit).unwrap_or(usize::MAX).saturating_mul(ENTRY)).await;
    blocking(ctx, &files, move |sandbox, stop| {
        let folder = sandbox.open_folder(&path).map_err(|fail| near::folders(fail, sandbox, &path, stop))?;
        let limit = usize::try_from(input.limit).unwrap_or(usize::MAX);
        let deepest = path.names().count() + usize::try_from(input.depth).unwrap_or(usize::MAX);
        let mut page = ListPage { after, limit, deepest, entries: Vec::new(), full: false };
        let walked = walk(&folder, &path, stop, &mut page).map_err(|error| denied(error, &path))?;
        let next = if page.full { page.entries.last().map(|entry| entry.path.clone()) } else { None };
        Ok(Listing {
            path: path.as_str().to_owned(),
            entries: page.entries,
            truncated: page.full || walked.cut,
            next,
            unnamed: walked.unnamed,
            unreadable: walked.unreadable,
        })
    })
    .await
}

struct ListPage {
    after: Option<WirePath>,
    limit: usize,
    deepest: usize,
    entries: Vec<Entry>,
    full: bool,
}

impl Visitor for ListPage {
    fn meet(&mut self, met: &Met<'_>) -> WalkStep {
        let into = if met.path.names().count() < self.deepest { WalkStep::Into } else { WalkStep::Over };
        if let Some(after) = &self.after
            && met.path.names().le(after.names())
        {
            // What is before it may still hold what comes after it.
            return if met.path.holds(after) { into } else { WalkStep::Over };
        }
        if self.entries.len() == self.limit {
            self.full = true;
            return WalkStep::End;
        }
        let metadata = met.folder.symlink_metadata(met.name).ok();
        let size = metadata.as_ref().filter(|_| met.kind == EntryKind::File).map(cap_std::fs::Metadata::len);
        self.entries.push(Entry {
            path: met.path.as_str().to_owned(),
            kind: met.kind,
            size,
            modified_ms: metadata.as_ref().and_then(modified_ms),
        });
        into
    }
}
