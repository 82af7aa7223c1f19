//! `files.search`, and the searching that it shares with `files.search_stream`.

use std::io::{self, Read};

use cap_std::fs::Dir;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use redress::{Ctx, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    entry::EntryKind,
    failures::{FolderFailure, PathFailure},
    ignored::Ignored,
    list::top,
    pattern::{Case, Globs, expression},
    sandbox::{Sandbox, blocking, denied, reading_no_link},
    walk::{Met, Step, Visitor, walk},
    wire_path::WirePath,
};

/// How large a file may be to be searched.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How much of a file's text is held at once; a line longer than that ends the file's search.
const HEAP: usize = 1024 * 1024;
/// How much is read between two looks at whether anybody still waits.
const PIECE: usize = 16 * 1024;
/// How much of a line is shown.
const SHOWN: usize = 400;
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
    pub(crate) case: Case,
    /// The folder to search in; the top unless said.
    #[serde(default = "top")]
    pub(crate) path: String,
    /// The files to search, such as `*.rs` or `src/**`; with `!` in front, those to leave out.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub(crate) globs: Vec<String>,
    /// Whether to search hidden files, and those that `.gitignore` and `.ignore` leave out, as well.
    #[serde(default)]
    pub(crate) everything: bool,
    /// How many matches at most.
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
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    /// Whether the search ended before everything was searched.
    pub(crate) truncated: bool,
    /// How many files were searched.
    pub(crate) files: u64,
    /// How many were not, for holding no text, being too large or not being readable.
    pub(crate) skipped: u64,
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
/// Regular expressions and globs as in ripgrep; hidden and ignored files, links and files without text are left out.
/// `truncated` says that there may be more: narrow the search, or raise `limit`. For matches as they are found, subscribe
/// to `files.search_stream`.
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
        let plan = Plan::new(&input)?;
        let mut matches = Vec::new();
        let summary = plan.run(sandbox, stop, &mut |found| {
            matches.push(found);
            true
        })?;
        Ok(Found { matches, summary })
    })
    .await
}

/// A search that can be run.
pub(crate) struct Plan {
    path: WirePath,
    expression: RegexMatcher,
    globs: Globs,
    everything: bool,
    limit: u64,
}

impl Plan {
    pub(crate) fn new(input: &Search) -> Outcome<Plan, SearchFailure> {
        Ok(Plan {
            path: WirePath::parse(&input.path)?,
            expression: expression(&input.pattern, input.literal, input.case)?,
            globs: Globs::new(&input.globs)?,
            everything: input.everything,
            limit: input.limit.into(),
        })
    }

    /// Makes sure that there is a folder to search in.
    pub(crate) fn check(&self, sandbox: &Sandbox) -> Outcome<(), SearchFailure> {
        sandbox.open_folder(&self.path).map(|_| ())
    }

    /// Runs it, and tells each match; where `tell` says no, it ends.
    pub(crate) fn run(
        &self,
        sandbox: &Sandbox,
        stop: &CancellationToken,
        tell: &mut dyn FnMut(Match) -> bool,
    ) -> Outcome<Summary, SearchFailure> {
        let folder = sandbox.open_folder::<SearchFailure>(&self.path)?;
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP))
            .line_number(true)
            .build();
        let mut searching = Searching {
            plan: self,
            searcher,
            stop,
            tell,
            ignored: Ignored::default(),
            summary: Summary::default(),
            left: self.limit,
        };
        let walked = walk(&folder, &self.path, stop, &mut searching).map_err(|error| denied(error, &self.path))?;
        let Summary { truncated, files, skipped } = searching.summary;
        Ok(Summary { truncated: truncated || walked.cut, files, skipped: skipped + walked.unreadable + walked.unnamed })
    }
}

struct Searching<'a> {
    plan: &'a Plan,
    searcher: Searcher,
    stop: &'a CancellationToken,
    tell: &'a mut dyn FnMut(Match) -> bool,
    ignored: Ignored,
    summary: Summary,
    /// How many matches may still be told.
    left: u64,
}

impl Visitor for Searching<'_> {
    fn enter(&mut self, folder: &Dir, path: &WirePath) {
        if !self.plan.everything {
            self.ignored.enter(folder, path);
        }
    }

    fn leave(&mut self) {
        if !self.plan.everything {
            self.ignored.leave();
        }
    }

    fn meet(&mut self, met: &Met<'_>) -> Step {
        let is_folder = met.kind == EntryKind::Folder;
        let hidden = met.path.name().starts_with('.');
        if !self.plan.everything && (hidden || self.ignored.leave_out(met.path, is_folder)) {
            return Step::Over;
        }
        if is_folder {
            return if self.plan.globs.leave_out(met.path) { Step::Over } else { Step::Into };
        }
        if met.kind == EntryKind::File && self.plan.globs.take(met.path) {
            match self.file(met) {
                Ok(true) => self.summary.files += 1,
                Ok(false) | Err(_) => self.summary.skipped += 1,
            }
        }
        if self.summary.truncated { Step::End } else { Step::Over }
    }
}

impl Searching<'_> {
    /// Whether the file was searched.
    fn file(&mut self, met: &Met<'_>) -> io::Result<bool> {
        let file = met.folder.open_with(met.name, &reading_no_link())?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            return Ok(false);
        }
        let mut lines = Lines {
            path: met.path,
            plan: self.plan,
            summary: &mut self.summary,
            tell: self.tell,
            left: &mut self.left,
            binary: false,
        };
        let piecewise = Piecewise { file: file.take(LARGEST), stop: self.stop };
        self.searcher.search_reader(&self.plan.expression, piecewise, &mut lines)?;
        Ok(!lines.binary)
    }
}

/// A file in small pieces. It may grow while it is searched, and the expression may be a slow one: what was not meant
/// to be read, and what nobody waits for any more, ends it.
struct Piecewise<'a, R> {
    file: R,
    stop: &'a CancellationToken,
}

impl<R: Read> Read for Piecewise<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the caller has gone"));
        }
        let piece = buffer.len().min(PIECE);
        self.file.read(buffer.get_mut(..piece).unwrap_or_default())
    }
}

/// Takes the lines that match in one file.
struct Lines<'a> {
    path: &'a WirePath,
    plan: &'a Plan,
    summary: &'a mut Summary,
    tell: &'a mut dyn FnMut(Match) -> bool,
    left: &'a mut u64,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if *self.left == 0 {
            self.summary.truncated = true;
            return Ok(false);
        }
        *self.left -= 1;
        let line = found.bytes().strip_suffix(b"\n").unwrap_or(found.bytes());
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = self.plan.expression.find(line)?.map_or(0, |place| place.start());
        let on = (self.tell)(Match {
            path: self.path.as_str().to_owned(),
            line: found.line_number().unwrap_or_default(),
            column: u64::try_from(start).unwrap_or_default() + 1,
            text: shown(line, start),
        });
        self.summary.truncated |= !on;
        Ok(on)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

/// The line, or the part of it that begins a little before the match.
fn shown(line: &[u8], start: usize) -> String {
    let before = if line.len() > SHOWN { start.saturating_sub(SHOWN / 4) } else { 0 };
    let part = line.get(before..).unwrap_or_default();
    let part = part.get(..SHOWN).unwrap_or(part);
    String::from_utf8_lossy(part).trim_matches('\u{fffd}').to_owned()
}
