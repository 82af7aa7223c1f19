//! `files.edit`.

use std::io::Read as _;

use redress::{Ctx, Fail, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    atomic::Over,
    differs::{self, LooseMatch, LooseMatchReport},
    failures::{ChangedFailure, FileFailure, LookupFailure, PathFailure, StorageFailure, UnconfirmedFailure},
    near,
    sandbox::{Sandbox, blocking},
    stat::hash_of,
    store::place,
    wire_path::WirePath,
    write::store,
};

/// How large a file may be to be edited.
const MAX_SIZE: u64 = 16 * 1024 * 1024;
/// How many places are told.
const TOLD: usize = 100;

/// What to replace.
#[data]
pub(crate) struct Edit {
    /// Relative to the served folder.
    pub(crate) path: String,
    /// The text to replace, exactly as the file has it, line ends and indentation included.
    #[schemars(length(min = 1))]
    pub(crate) old: String,
    /// What to put in its place.
    pub(crate) new: String,
    /// How often `old` has to be there; all are replaced.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub(crate) count: u64,
    /// The SHA-256 that the file must have before.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    pub(crate) sha256: Option<String>,
}

fn once() -> u64 {
    1
}

/// What has been replaced.
#[data]
pub(crate) struct Edited {
    path: String,
    /// How often the old text was there and was replaced.
    replaced: u64,
    /// The lines where it began, before the change; at most a hundred.
    lines: Vec<u64>,
    /// How many bytes the file holds.
    size: u64,
    /// The SHA-256 of what it holds.
    sha256: String,
}

/// How editing may fail. Nothing has been changed then, unless the failure says so.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, LookupFailure, FileFailure, StorageFailure, ChangedFailure, UnconfirmedFailure))]
pub(crate) enum EditFailure {
    /// The old text is nowhere in the file.
    #[failure(kind = conflict, message = "{path} does not hold the old text", effect = none,
              recover(call = "files.read", bind(path = path), why = "see what it holds",
                      hint = "Read the file and copy the old text exactly, with its spaces."))]
    TextNotFound {
        path: String,
        /// Where it is, but for line ends, indentation or other blanks; at most one.
        places: Vec<LooseMatch>,
    },
    /// The old text is in the file more often than was expected.
    #[failure(kind = conflict, message = "{path} holds the old text {found} times, not {expected}", effect = none,
              recover(fix_input = "/old", hint = "Add lines around it until it is unique, or give this `count`."))]
    EditAmbiguous {
        path: String,
        expected: u64,
        found: u64,
        /// The lines where it begins; at most a hundred.
        lines: Vec<u64>,
    },
    /// The old text is in the file, but less often than was expected.
    #[failure(kind = conflict, message = "{path} holds the old text only {found} times, not {expected}", effect = none,
              extends("EDIT_AMBIGUOUS"),
              recover(fix_input = "/count", hint = "Give the `count` that was found, or a shorter `old` text."))]
    EditTooFew {
        path: String,
        expected: u64,
        found: u64,
        /// The lines where it begins; at most a hundred.
        lines: Vec<u64>,
    },
    /// The content is not UTF-8 text.
    #[failure(kind = validation, message = "{path} holds no text", effect = none,
              recover(stop, hint = "Only text can be edited; write the whole file instead."))]
    FileNotText { path: String },
    /// The file is too large to be edited.
    #[failure(kind = validation, message = "{path} has {size} bytes, more than the {limit} that can be edited", http = 413,
              effect = none, recover(ask_user, hint = "Ask for a file this large to be changed otherwise."))]
    FileTooLarge { path: String, size: u64, limit: u64 },
}

/// Replace text in a file, exactly and all at once or not at all.
///
/// The old text has to be there once, or as often as `count` says; otherwise nothing is changed.
#[operation(
    mutation,
    name = "files.edit",
    access(scopes = "files:read files:write"),
    idempotency_key,
    max_input = "16mb",
    tags("files"),
    example(
        input = r#"{"path":"notes.md","old":"teh","new":"the"}"#,
        output = r#"{"path":"notes.md","replaced":1,"lines":[1],"size":4,"sha256":"a587693500a37d17d90e7a8d1512d4c3ebfb38b53f9d07feeff1c2e6abb8ad55"}"#
    ),
    example(input = r#"{"path":"notes.md","old":"e","new":"E"}"#, failure = "EDIT_AMBIGUOUS")
)]
pub(crate) async fn edit(ctx: &Ctx, files: State<Files>, input: Edit) -> Outcome<Edited, EditFailure> {
    let path = files.sandbox.path(&input.path)?;
    blocking(ctx, &files, move |sandbox, stop| {
        let turn = sandbox.changing();
        let ended = replace(sandbox, &path, &input, stop);
        // What would have helped is looked for while others may change files.
        drop(turn);
        match ended.map_err(|fail| near::entries(fail, sandbox, &path, stop))? {
            Replaced::Done(edited) => Ok(edited),
            Replaced::Nothing { text } => Err(not_found(&path, &text, &input.old)),
        }
    })
    .await
}

enum Replaced {
    Done(Edited),
    /// The old text is nowhere in this one.
    Nothing {
        text: String,
    },
}

/// Replaces the text. Whoever calls this has the turn to change something.
fn replace(
    sandbox: &Sandbox,
    path: &WirePath,
    input: &Edit,
    stop: &CancellationToken,
) -> Outcome<Replaced, EditFailure> {
    let name = || path.as_str().to_owned();
    let (file, metadata) = sandbox.open_file::<EditFailure>(path)?;
    let large = |size| EditFailure::FileTooLarge { path: name(), size, limit: MAX_SIZE };
    if metadata.len() > MAX_SIZE {
        return Err(large(metadata.len()).into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_SIZE).read_to_end(&mut bytes)?;
    let sha256 = hash_of(&bytes);
    if input.sha256.as_ref().is_some_and(|expected| *expected != sha256) {
        return Err(ChangedFailure::FileChanged { path: name(), sha256 }.into());
    }
    let text = String::from_utf8(bytes).map_err(|_| EditFailure::FileNotText { path: name() })?;
    let (found, lines) = places(&text, &input.old);
    let expected = input.count;
    if found == 0 {
        return Ok(Replaced::Nothing { text });
    }
    if found > expected {
        return Err(EditFailure::EditAmbiguous { path: name(), expected, found, lines }.into());
    }
    if found < expected {
        return Err(EditFailure::EditTooFew { path: name(), expected, found, lines }.into());
    }
    let grown = found.saturating_mul(u64::try_from(input.new.len())?).saturating_add(u64::try_from(text.len())?);
    let size = grown - found * u64::try_from(input.old.len())?;
    if size > MAX_SIZE {
        return Err(large(size).into());
    }
    let text = text.replace(&input.old, &input.new);
    // The folder was there a moment ago, so what is wrong with it now is no failure of editing.
    let place = place(sandbox, path, false, |_| Fail::contain("the folder has gone"))?;
    store::<EditFailure>(&place, path, text.as_bytes(), Over::Anything, stop)?;
    let sha256 = hash_of(text.as_bytes());
    Ok(Replaced::Done(Edited { path: name(), replaced: found, lines, size, sha256 }))
}

/// How often `old` is in `text`, and the lines where the first of them begin.
fn places(text: &str, old: &str) -> (u64, Vec<u64>) {
    let (mut found, mut lines) = (0, Vec::new());
    let (mut line, mut counted) = (1, 0);
    for (place, _) in text.match_indices(old) {
        found += 1;
        if lines.len() < TOLD {
            line += text.get(counted..place).map_or(0, newlines);
            counted = place;
            lines.push(line);
        }
    }
    (found, lines)
}

fn newlines(text: &str) -> u64 {
    text.bytes().map(|byte| u64::from(byte == b'\n')).sum()
}

/// The part of a file to look at.
#[data]
struct EditRegion {
    path: String,
    from_line: u64,
    lines: u64,
}

/// That the text is nowhere: with the place that differs in blanks alone, or else with the lines near its first one.
fn not_found(path: &WirePath, text: &str, old: &str) -> Fail<EditFailure> {
    let name = path.as_str();
    let Some(LooseMatchReport { place, hint, text: shown }) = differs::find(text, old) else {
        let wanted = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim().is_empty() && line.len() <= 300);
        return EditFailure::TextNotFound { path: name.to_owned(), places: Vec::new() }.with_similar(wanted, lines);
    };
    let part = EditRegion { path: name.to_owned(), from_line: place.line, lines: place.lines };
    Fail::from(EditFailure::TextNotFound { path: name.to_owned(), places: vec![place] })
        .with_hint(hint)
        .with_nearest(shown)
        .with_next_action("files.read", &part, "see the lines as they are")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_without_overlap_and_told_by_line() {
        assert_eq!(places("a\nb a\n\na", "a"), (3, vec![1, 2, 4]));
        assert_eq!(places("aaa", "aa"), (1, vec![1]));
        assert_eq!(places("x", "y"), (0, vec![]));
        assert_eq!(places(&"z\n".repeat(500), "z").1.len(), TOLD);
    }
}
