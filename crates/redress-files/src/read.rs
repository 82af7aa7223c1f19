//! `files.read`.

use std::io::{Read as _, Seek as _, SeekFrom};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cap_std::fs::{File, Metadata};
use redress::{Ctx, Fail, Failure, Outcome, State, data, operation};
use tokio_util::sync::CancellationToken;

use crate::{
    Files,
    failures::{FileFailure, LookupFailure, PathFailure},
    near,
    sandbox::{Sandbox, blocking},
    stat::hash_of,
    window::{self, LinesError},
    wire_path::WirePath,
};

/// How much of the begin of a file is searched for a zero byte.
const HEAD: u64 = 8_192;

/// In what form the content is given.
#[data]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Encoding {
    // What a variant says here, every tool that takes one says to every model: the fields say it once.
    #[default]
    Text,
    Base64,
}

/// What to read: the whole file, or a range of bytes, or some lines.
#[data]
pub(crate) struct Read {
    /// Relative to the served folder.
    pub(crate) path: String,
    /// The first byte, counted from zero.
    #[serde(default)]
    pub(crate) offset: Option<u64>,
    /// How many bytes.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) length: Option<u64>,
    /// The first line, counted from 1; negative from the end: -20 begins the last 20.
    #[serde(default)]
    pub(crate) from_line: Option<i64>,
    /// How many lines.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) lines: Option<u64>,
    /// How many bytes at most; text is cut at a line end.
    #[serde(default = "cap")]
    #[schemars(range(min = 16, max = 4_194_304))]
    pub(crate) max_bytes: u64,
    /// UTF-8 text, or the bytes in base64.
    #[serde(default)]
    pub(crate) encoding: Encoding,
}

fn cap() -> u64 {
    32 * 1024
}

/// The part of a file that is asked for.
#[derive(Clone, Copy)]
enum ReadRange {
    Bytes { offset: u64, length: Option<u64> },
    Lines { first: u64, count: Option<u64> },
    Last { lines: u64, count: Option<u64> },
}

impl ReadRange {
    /// Reads it from the input. Who fills in every field gives an `offset` of 0 or a `from_line` of 1 with anything.
    fn of(input: &Read) -> Result<ReadRange, ReadFailure> {
        let bytes = input.length.is_some() || input.offset.is_some_and(|offset| offset > 0);
        let lines = input.lines.is_some() || input.from_line.is_some_and(|line| !matches!(line, 0 | 1));
        let base64 = input.encoding == Encoding::Base64;
        if lines && (bytes || base64) {
            return Err(ReadFailure::WindowConflicting);
        }
        let (first, count) = (input.from_line.unwrap_or(1), input.lines);
        Ok(if bytes || base64 {
            ReadRange::Bytes { offset: input.offset.unwrap_or_default(), length: input.length }
        } else if first < 0 {
            ReadRange::Last { lines: first.unsigned_abs(), count }
        } else {
            ReadRange::Lines { first: first.unsigned_abs().max(1), count }
        })
    }
}

/// The content of a file, or a part of it. What says how to go on comes before the content, which hosts may cut.
#[data]
pub(crate) struct FileContent {
    path: String,
    encoding: Encoding,
    /// How many bytes the whole file has.
    size: u64,
    /// The first byte that is here. A character that the range had cut in half is left out.
    offset: u64,
    /// The first line that is here, if lines were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_line: Option<u64>,
    /// Whether `max_bytes` cut off a part of what was asked for.
    truncated: bool,
    /// The line to go on at, if the file goes on and lines were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_line: Option<u64>,
    /// The byte to go on at, if the file goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// The SHA-256 of the file, if all of it is here; `files.write` and `files.edit` take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// The text, or the bytes in base64.
    content: String,
}

/// How reading may fail.
#[derive(Debug, Failure)]
#[failure(include(PathFailure, LookupFailure, FileFailure))]
pub(crate) enum ReadFailure {
    /// The content is not UTF-8 text.
    #[failure(kind = validation, message = "{path} holds no text ({size} bytes)", effect = none,
              recover(fix_input = "/encoding", hint = "Ask for base64 if the bytes themselves are wanted."))]
    FileIsBinary { path: String, size: u64 },
    /// Both a range of bytes and lines were asked for, or lines in base64.
    #[failure(kind = validation, effect = none,
              recover(fix_input = "/offset", hint = "Give `offset` and `length`, or `from_line` and `lines`."))]
    WindowConflicting,
    /// The range begins after the end of the file.
    #[failure(kind = validation, message = "{path} ends at byte {size}", effect = none,
              recover(fix_input = "/offset", hint = "Give an offset below the size of the file."))]
    OffsetPastEnd { path: String, size: u64 },
    /// The first line asked for is after the end of the file.
    #[failure(kind = validation, message = "{path} has {lines} lines", effect = none,
              recover(fix_input = "/from_line", hint = "Give a line that the file has."))]
    LinePastEnd { path: String, lines: u64 },
}

/// Read a file, or a part of it.
///
/// UTF-8 text, or bytes in base64 if asked. `truncated` says that something was cut off, `next_line` and `next_offset`
/// where to go on.
#[operation(
    query,
    name = "files.read",
    access(scopes = "files:read"),
    tags("files"),
    example(
        input = r#"{"path":"notes.md","from_line":1,"lines":50}"#,
        output = r#"{"path":"notes.md","encoding":"text","size":4,"offset":0,"from_line":1,"truncated":false,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","content":"test"}"#
    ),
    example(input = r#"{"path":"note.md"}"#, failure = "FILE_NOT_FOUND")
)]
pub(crate) async fn read(ctx: &Ctx, files: State<Files>, input: Read) -> Outcome<FileContent, ReadFailure> {
    let path = files.sandbox.path(&input.path)?;
    let part = ReadRange::of(&input)?;
    let bytes = at_most(ctx, &files, &path, &input).await?;
    ctx.reserve(memory(bytes, input.encoding)).await;
    blocking(ctx, &files, move |sandbox, stop| {
        let (mut file, metadata) = open(sandbox, &path, stop)?;
        let size = metadata.len();
        let name = || path.as_str().to_owned();
        if let ReadRange::Bytes { offset, .. } = part
            && offset > size
        {
            return Err(ReadFailure::OffsetPastEnd { path: name(), size })?;
        }
        if input.encoding == Encoding::Text {
            let mut head = Vec::new();
            file.by_ref().take(HEAD).read_to_end(&mut head)?;
            if head.contains(&0) {
                return Err(ReadFailure::FileIsBinary { path: name(), size })?;
            }
            file.seek(SeekFrom::Start(0))?;
        }
        let unread = |error| match error {
            LinesError::PastEnd { lines } => ReadFailure::LinePastEnd { path: name(), lines }.into(),
            LinesError::Cancelled => Fail::contain("the caller has gone"),
            LinesError::Io(error) => Fail::<ReadFailure>::from(error),
        };
        let (window, first) = match part {
            ReadRange::Bytes { offset, length } => (window::bytes(file, offset, length, input.max_bytes)?, None),
            ReadRange::Lines { first, count } => {
                (window::lines(file, first, count, input.max_bytes, stop).map_err(unread)?, Some(first))
            }
            ReadRange::Last { lines, count } => {
                window::last_lines(file, lines, count, input.max_bytes, stop).map_err(unread)?
            }
        };
        let asked_for_lines = input.from_line.is_some() || input.lines.is_some();
        let whole = window.offset == 0 && length(&window.bytes) == size;
        let sha256 = whole.then(|| hash_of(&window.bytes));
        let (content, window, taken) = match input.encoding {
            Encoding::Base64 => {
                (BASE64_STANDARD.encode(&window.bytes), window.offset, (length(&window.bytes), None, window.capped))
            }
            Encoding::Text => {
                let binary = || ReadFailure::FileIsBinary { path: name(), size };
                let (text, window) = window::text(window::at_line_end(window), size).ok_or_else(binary)?;
                let bytes = length(text.as_bytes());
                (text, window.offset, (bytes, window.lines, window.capped))
            }
        };
        let (bytes, lines, truncated) = taken;
        let end = window + bytes;
        let goes_on = end < size;
        Ok(FileContent {
            path: name(),
            encoding: input.encoding,
            size,
            offset: window,
            from_line: first.filter(|_| asked_for_lines),
            truncated,
            next_line: first.zip(lines).filter(|_| goes_on).map(|(first, count)| first + count),
            next_offset: goes_on.then_some(end),
            sha256,
            content,
        })
    })
    .await
}

/// Opens the file, or says what is near to it.
fn open(sandbox: &Sandbox, path: &WirePath, stop: &CancellationToken) -> Outcome<(File, Metadata), ReadFailure> {
    sandbox.open_file(path).map_err(|fail| near::entries(fail, sandbox, path, stop))
}

/// How many bytes will be read at most. Whoever asks for more than usual is believed only as far as the file goes.
async fn at_most(ctx: &Ctx, files: &State<Files>, path: &WirePath, input: &Read) -> Outcome<u64, ReadFailure> {
    let asked = input.max_bytes.min(input.length.unwrap_or(u64::MAX));
    if asked <= cap() {
        return Ok(asked);
    }
    let path = path.clone();
    let size =
        blocking(ctx, files, move |sandbox, stop| open(sandbox, &path, stop).map(|(_, metadata)| metadata.len()));
    Ok(asked.min(size.await?.saturating_sub(input.offset.unwrap_or_default())))
}

/// How much memory it takes to read so many bytes and to write them as an answer: the bytes, or their base64, beside
/// the answer that is made of them.
fn memory(bytes: u64, encoding: Encoding) -> usize {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    match encoding {
        // A control character is six in JSON. What is not needed is given back; what was needed and not reserved would
        // be held by everyone who waits for it.
        Encoding::Text => bytes.saturating_mul(7),
        Encoding::Base64 => bytes.saturating_mul(3),
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
