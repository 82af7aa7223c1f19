//! The searching that `files.search` and `files.search_stream` share.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, File};
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use redress::Outcome;
use tokio_util::sync::CancellationToken;

use crate::{
    entry::EntryKind,
    ignored::Ignored,
    near,
    pattern::{Globs, expression},
    read::ReadFailure,
    sandbox::{Sandbox, denied, reading_no_link},
    search::{Match, Search, SearchFailure, Summary},
    walk::{Met, Visitor, WalkStep, walk},
    wire_path::WirePath,
};

/// How large a file may be to be searched.
const MAX_SIZE: u64 = 64 * 1024 * 1024;
/// How much of a file's text is held at once; a line longer than that ends the file's search.
const HEAP: usize = 1024 * 1024;
/// How much is read between two looks at whether anybody still waits.
const PIECE: usize = 16 * 1024;
/// How much of what was left out is remembered, and for how long it is searched where nothing else matches.
const LEFT_OUT: usize = 4_096;
const LEFT_OUT_TIME: Duration = Duration::from_millis(500);
/// How much of a line is shown.
const SHOWN: usize = 400;
/// A search that can be run.
pub(crate) struct SearchPlan {
    path: WirePath,
    expression: RegexMatcher,
    globs: Globs,
    everything: bool,
    limit: u64,
}

/// Where a search begins.
pub(crate) enum SearchStart {
    Folder(Dir),
    /// One file, which was named and is searched whatever leaves it out elsewhere.
    File(File),
}

impl SearchPlan {
    pub(crate) fn new(input: &Search, sandbox: &Sandbox) -> Outcome<SearchPlan, SearchFailure> {
        Ok(SearchPlan {
            path: sandbox.path(&input.path)?,
            expression: expression(&input.pattern, input.literal, input.case)?,
            globs: Globs::new(&input.globs)?,
            everything: input.everything,
            limit: input.limit.into(),
        })
    }

    /// Opens what there is to search in.
    pub(crate) fn start(&self, sandbox: &Sandbox, stop: &CancellationToken) -> Outcome<SearchStart, SearchFailure> {
        match sandbox.open_folder::<SearchFailure>(&self.path) {
            Ok(folder) => Ok(SearchStart::Folder(folder)),
            Err(fail) if fail.code() == Some("NOT_A_FOLDER") => {
                // A pipe or a device is no file either, and is not opened.
                let file = sandbox.open_file::<ReadFailure>(&self.path);
                file.map(|(file, _)| SearchStart::File(file)).map_err(|_| fail)
            }
            Err(fail) => Err(near::either(fail, sandbox, &self.path, stop)),
        }
    }

    /// Runs it, and tells each match; where `tell` says no, it ends.
    pub(crate) fn run(
        &self,
        sandbox: &Sandbox,
        stop: &CancellationToken,
        tell: &mut dyn FnMut(Match) -> bool,
    ) -> Outcome<Summary, SearchFailure> {
        let start = self.start(sandbox, stop)?;
        let mut searching = Searching::new(self, self.everything, self.limit, stop, tell);
        let folder = match start {
            SearchStart::Folder(folder) => folder,
            SearchStart::File(file) => {
                if self.globs.take(&self.path) {
                    searching.one(&self.path, file);
                }
                return Ok(searching.summary);
            }
        };
        let walked = walk(&folder, &self.path, stop, &mut searching).map_err(|error| denied(error, &self.path))?;
        let Searching { mut summary, left_out, left, .. } = searching;
        summary.truncated |= walked.cut;
        summary.skipped += walked.unreadable + walked.unnamed;
        if left == self.limit && !summary.truncated {
            summary.with_everything = self.first_left_out(sandbox, left_out, stop);
        }
        Ok(summary)
    }

    /// The first match in what was left out for being hidden or ignored, as far as it is found soon.
    fn first_left_out(
        &self,
        sandbox: &Sandbox,
        left_out: Vec<(WirePath, EntryKind)>,
        stop: &CancellationToken,
    ) -> Option<String> {
        let mut first = None;
        let mut tell = |found: Match| {
            first = Some(found.path);
            false
        };
        let mut searching = Searching::new(self, true, 1, stop, &mut tell);
        let until = Instant::now() + LEFT_OUT_TIME;
        searching.until = Some(until);
        for (path, kind) in left_out {
            if searching.summary.truncated || stop.is_cancelled() || Instant::now() > until {
                break;
            }
            if kind == EntryKind::Folder {
                if let Ok(folder) = sandbox.dir().open_dir_nofollow(path.as_path()) {
                    // What cannot be walked through has nothing to tell.
                    let _ = walk(&folder, &path, stop, &mut searching);
                }
            } else if self.globs.take(&path)
                && let Ok(file) = sandbox.dir().open_with(path.as_path(), &reading_no_link())
            {
                searching.one(&path, file);
            }
        }
        first
    }
}

struct Searching<'a> {
    plan: &'a SearchPlan,
    everything: bool,
    searcher: Searcher,
    stop: &'a CancellationToken,
    /// When it ends whatever is left.
    until: Option<Instant>,
    tell: &'a mut dyn FnMut(Match) -> bool,
    ignored: Ignored,
    /// What was left out for being hidden or ignored; the first of it.
    left_out: Vec<(WirePath, EntryKind)>,
    summary: Summary,
    /// How many matches may still be told.
    left: u64,
}

impl Visitor for Searching<'_> {
    fn enter(&mut self, folder: &Dir, path: &WirePath) {
        if !self.everything {
            self.ignored.enter(folder, path);
        }
    }

    fn leave(&mut self) {
        if !self.everything {
            self.ignored.leave();
        }
    }

    fn meet(&mut self, met: &Met<'_>) -> WalkStep {
        let is_folder = met.kind == EntryKind::Folder;
        if self.until.is_some_and(|until| Instant::now() > until) {
            return WalkStep::End;
        }
        let hidden = met.path.name().starts_with('.');
        if !self.everything && (hidden || self.ignored.leave_out(met.path, is_folder)) {
            self.leave_out(met);
            return WalkStep::Over;
        }
        if is_folder {
            return if self.plan.globs.leave_out(met.path) { WalkStep::Over } else { WalkStep::Into };
        }
        if met.kind == EntryKind::File && self.plan.globs.take(met.path) {
            match met.folder.open_with(met.name, &reading_no_link()) {
                Ok(file) => self.one(met.path, file),
                Err(_) => self.summary.skipped += 1,
            }
        }
        if self.summary.truncated { WalkStep::End } else { WalkStep::Over }
    }
}

impl<'a> Searching<'a> {
    fn new(
        plan: &'a SearchPlan,
        everything: bool,
        left: u64,
        stop: &'a CancellationToken,
        tell: &'a mut dyn FnMut(Match) -> bool,
    ) -> Searching<'a> {
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP))
            .line_number(true)
            .build();
        Searching {
            plan,
            everything,
            searcher,
            stop,
            until: None,
            tell,
            ignored: Ignored::default(),
            left_out: Vec::new(),
            summary: Summary::default(),
            left,
        }
    }

    /// Remembers what was left out, as long as it may be needed. What git keeps for itself, nobody means.
    fn leave_out(&mut self, met: &Met<'_>) {
        let nothing_yet = self.left == self.plan.limit;
        let searched = matches!(met.kind, EntryKind::File | EntryKind::Folder) && met.path.name() != ".git";
        if nothing_yet && searched && self.left_out.len() < LEFT_OUT {
            self.left_out.push((met.path.clone(), met.kind));
        }
    }

    /// Searches one file, and counts it.
    fn one(&mut self, path: &WirePath, file: File) {
        match self.file(path, file) {
            Ok(true) => self.summary.files += 1,
            Ok(false) | Err(_) => self.summary.skipped += 1,
        }
    }

    /// Whether the file was searched.
    fn file(&mut self, path: &WirePath, file: File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > MAX_SIZE {
            return Ok(false);
        }
        let mut lines = Lines {
            path,
            plan: self.plan,
            summary: &mut self.summary,
            tell: self.tell,
            left: &mut self.left,
            binary: false,
        };
        let piecewise = Piecewise { file: file.take(MAX_SIZE), stop: self.stop, until: self.until };
        self.searcher.search_reader(&self.plan.expression, piecewise, &mut lines)?;
        Ok(!lines.binary)
    }
}

/// A file in small pieces. It may grow while it is searched, and the expression may be a slow one: what was not meant
/// to be read, and what nobody waits for any more, ends it.
struct Piecewise<'a, R> {
    file: R,
    stop: &'a CancellationToken,
    until: Option<Instant>,
}

impl<R: Read> Read for Piecewise<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() || self.until.is_some_and(|until| Instant::now() > until) {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        let piece = buffer.len().min(PIECE);
        self.file.read(buffer.get_mut(..piece).unwrap_or_default())
    }
}

/// Takes the lines that match in one file.
struct Lines<'a> {
    path: &'a WirePath,
    plan: &'a SearchPlan,
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_search_ends_within_a_file_when_nobody_waits_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("{}\n", "a".repeat(1023));
        fs::write(folder.path().join("long"), line.repeat(9_000)).unwrap();
        let sandbox = Sandbox::open(folder.path()).unwrap();
        let input = serde_json::from_str(r#"{"pattern":"a","limit":10000}"#).unwrap();
        let plan = SearchPlan::new(&input, &sandbox).unwrap();
        let (stop, mut told) = (CancellationToken::new(), 0);
        let summary = plan.run(&sandbox, &stop, &mut |_| {
            stop.cancel();
            told += 1;
            true
        });
        let summary = summary.unwrap();
        assert!(told <= 2 * PIECE / line.len(), "{told} lines were told");
        assert_eq!((summary.files, summary.skipped), (0, 1));
    }
}
