//! `files.search`.

use redress::{Ctx, Failure, Outcome, State, data, operation};

use crate::{
    Files,
    failures::{FolderFailure, PathFailure},
    list::top,
    pattern::CaseSensitivity,
    sandbox::blocking,
    searching::SearchPlan,
};

/// About how much memory one match takes at most, its part of the answer included.
const MATCH: usize = 1024;

/// What to search for, and where.
#[data]
pub(crate) struct Search {
    /// A regular expression, matched within lines.
    #[schemars(length(min = 1, max = 4096))]
    pub(crate) pattern: String,
    /// Whether the pattern is plain text and no expression.
    #[serde(default)]
    pub(crate) literal: bool,
    #[serde(default)]
    pub(crate) case: CaseSensitivity,
    /// The folder or the one file to search, relative to the served folder.
    #[serde(default = "top")]
    pub(crate) path: String,
    /// The files to search, such as `*.rs` or `src/**`; with `!` in front, those to leave out.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub(crate) globs: Vec<String>,
    /// Whether to search hidden and ignored files too.
    #[serde(default)]
    pub(crate) everything: bool,
    /// How many matches.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10000))]
    pub(crate) limit: u32,
}

fn hundred() -> u32 {
    100
}

/// One line that matches.
#[data]
#[derive(Clone, Debug)]
pub(crate) struct Match {
    pub(crate) path: String,
    /// The line, counted from one.
    pub(crate) line: u64,
    /// Where in the line the match begins, in bytes counted from one.
    pub(crate) column: u64,
    /// The line, or the part around the match.
    pub(crate) text: String,
}

/// What has been found.
#[data]
pub(crate) struct Found {
    /// By path, then by line.
    matches: Vec<Match>,
    #[serde(flatten)]
    summary: Summary,
}

/// What a search has gone through.
#[data]
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// Whether the search ended before everything was searched.
    pub(crate) truncated: bool,
    /// How many files were searched.
    pub(crate) files: u64,
    /// How many were not, for holding no text, being too large or not being readable.
    pub(crate) skipped: u64,
    /// A hidden or ignored file that matches, where no other does: `everything` finds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) with_everything: Option<String>,
}

/// How searching may fail.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, FolderFailure))]
pub(crate) enum SearchFailure {
    /// The pattern is no regular expression, or too large a one.
    #[failure(kind = validation, message = "the pattern cannot be used: {problem}", effect = none,
              recover(fix_input = "/pattern", hint = "Correct the expression, or say that it is literal."))]
    PatternInvalid {
        problem: String,
        /// Where in the pattern, in bytes.
        offset: u64,
    },
    /// One of the globs cannot be read.
    #[failure(kind = validation, message = "glob {index} cannot be read", effect = none,
              recover(fix_input = "/globs", hint = "Correct the glob at this place in the list."))]
    GlobInvalid { index: u64 },
}

/// Search files for lines that match.
///
/// As in ripgrep: regular expressions, globs, and no hidden or ignored files unless `everything` is said. `truncated` says
/// that there may be more: narrow the search, or raise `limit`.
#[operation(
    query,
    name = "files.search",
    access(scopes = "files:read"),
    deadline = "60s",
    tags("files"),
    example(
        input = r#"{"pattern":"fn \\w+","globs":["*.rs"]}"#,
        output = r#"{"matches":[{"path":"src/main.rs","line":1,"column":1,"text":"fn main() {}"}],"truncated":false,"files":1,"skipped":0}"#
    ),
    example(input = r#"{"pattern":"a(b"}"#, failure = "PATTERN_INVALID")
)]
pub(crate) async fn search(ctx: &Ctx, files: State<Files>, input: Search) -> Outcome<Found, SearchFailure> {
    ctx.reserve(usize::try_from(input.limit).unwrap_or(usize::MAX).saturating_mul(MATCH)).await;
    blocking(ctx, &files, move |sandbox, stop| {
        // A large expression takes its time to be compiled.
        let plan = SearchPlan::new(&input, sandbox)?;
        let mut matches = Vec::new();
        let summary = plan.run(sandbox, stop, &mut |found| {
            matches.push(found);
            true
        })?;
        Ok(Found { matches, summary })
    })
    .await
}
