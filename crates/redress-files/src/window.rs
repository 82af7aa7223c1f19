//! The part of a file that is read: a range of bytes, or some lines.

use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};

use tokio_util::sync::CancellationToken;

/// How much is read at once while lines are counted.
const BUFFER: usize = 64 * 1024;
/// The same, from the end.
const PIECE: u64 = 64 * 1024;
/// How far into a file lines are counted for a number that only helps.
const COUNTED: u64 = 64 * 1024 * 1024;

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) bytes: Vec<u8>,
    /// Where in the file they begin.
    pub(crate) offset: u64,
    /// How many lines they are, where lines were asked for and whole ones came.
    pub(crate) lines: Option<u64>,
    /// Whether the cap ended it before what was asked for was complete.
    pub(crate) capped: bool,
}

/// Why lines could not be read.
#[derive(Debug)]
pub(crate) enum LinesError {
    /// The file has fewer lines.
    PastEnd {
        lines: u64,
    },
    /// The caller has gone.
    Cancelled,
    Io(io::Error),
}

impl From<io::Error> for LinesError {
    fn from(error: io::Error) -> LinesError {
        LinesError::Io(error)
    }
}

/// The bytes from `offset` on: `length` of them, or all, and `cap` at most.
pub(crate) fn bytes(mut file: impl Read + Seek, offset: u64, length: Option<u64>, cap: u64) -> io::Result<Window> {
    file.seek(SeekFrom::Start(offset))?;
    let wanted = length.unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.by_ref().take(wanted.min(cap)).read_to_end(&mut bytes)?;
    let capped = wanted > cap && file.read(&mut [0])? > 0;
    Ok(Window { bytes, offset, lines: None, capped })
}

/// Ends a window that the cap has cut at its last whole line, if it has one: half a line is no use to whoever goes on.
pub(crate) fn at_line_end(mut window: Window) -> Window {
    if let (true, Some(last)) = (window.capped, window.bytes.iter().rposition(|byte| *byte == b'\n')) {
        window.bytes.truncate(last + 1);
    }
    window
}

/// The lines from the `first` on, counted from one: `count` of them, or all, in `cap` bytes at most.
pub(crate) fn lines(
    file: impl Read,
    first: u64,
    count: Option<u64>,
    cap: u64,
    stop: &CancellationToken,
) -> Result<Window, LinesError> {
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let offset = skip(&mut reader, first, stop)?;
    Ok(take_lines(reader, offset, count, cap)?)
}

/// The lines from the last but so many on: `count` of them, or all, in `cap` bytes at most. It is read from its end, so
/// the line that it begins with is known only where that is no further into the file than is worth counting.
pub(crate) fn last_lines(
    mut file: impl Read + Seek,
    last: u64,
    count: Option<u64>,
    cap: u64,
    stop: &CancellationToken,
) -> Result<(Window, Option<u64>), LinesError> {
    let offset = back(&mut file, last, stop)?;
    let first = if offset <= COUNTED { Some(line_at(&mut file, offset, stop)?) } else { None };
    file.seek(SeekFrom::Start(offset))?;
    Ok((take_lines(BufReader::with_capacity(BUFFER, file), offset, count, cap)?, first))
}

/// Where the last `last` lines begin. A line end at the very end of the file begins no line.
fn back(file: &mut (impl Read + Seek), last: u64, stop: &CancellationToken) -> Result<u64, LinesError> {
    let size = file.seek(SeekFrom::End(0))?;
    let (mut end, mut left, mut buffer) = (size, last, Vec::with_capacity(BUFFER));
    while end > 0 {
        if stop.is_cancelled() {
            return Err(LinesError::Cancelled);
        }
        let start = end.saturating_sub(PIECE);
        file.seek(SeekFrom::Start(start))?;
        buffer.clear();
        file.by_ref().take(end - start).read_to_end(&mut buffer)?;
        for (index, _) in buffer.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
            let next = start + u64::try_from(index).unwrap_or_default() + 1;
            left -= u64::from(next < size);
            if left == 0 {
                return Ok(next);
            }
        }
        end = start;
    }
    Ok(0)
}

/// The number of the line that begins at `offset`.
fn line_at(file: &mut (impl Read + Seek), offset: u64, stop: &CancellationToken) -> Result<u64, LinesError> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(BUFFER, file.take(offset));
    let mut line = 1;
    loop {
        if stop.is_cancelled() {
            return Err(LinesError::Cancelled);
        }
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(line);
        }
        line += buffer.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        let taken = buffer.len();
        reader.consume(taken);
    }
}

/// Whole lines from here on.
fn take_lines(mut reader: BufReader<impl Read>, offset: u64, count: Option<u64>, cap: u64) -> io::Result<Window> {
    let count = count.unwrap_or(u64::MAX);
    let cap = usize::try_from(cap).unwrap_or(usize::MAX);
    let mut window = Window { offset, lines: Some(0), ..Window::default() };
    let (mut found, mut whole) = (0, 0);
    while found < count && !window.capped {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            found += u64::from(window.bytes.len() > whole);
            whole = window.bytes.len();
            break;
        }
        let end = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |place| place + 1);
        let taken = end.min(cap - window.bytes.len());
        window.capped = taken < end;
        window.bytes.extend(buffer.iter().take(taken));
        reader.consume(taken);
        if !window.capped && window.bytes.last() == Some(&b'\n') {
            found += 1;
            whole = window.bytes.len();
        }
    }
    window.lines = Some(found);
    if window.capped && whole > 0 {
        // Whole lines can be gone on from by their number.
        window.bytes.truncate(whole);
    } else if window.capped {
        window.lines = None;
    }
    Ok(window)
}

/// Goes to the begin of line `first`, and says where that is.
fn skip(reader: &mut BufReader<impl Read>, first: u64, stop: &CancellationToken) -> Result<u64, LinesError> {
    let (mut offset, mut line, mut open) = (0_u64, 1_u64, false);
    while line < first {
        if stop.is_cancelled() {
            return Err(LinesError::Cancelled);
        }
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Err(LinesError::PastEnd { lines: line - 1 + u64::from(open) });
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let taken = newline.map_or(buffer.len(), |place| place + 1);
        reader.consume(taken);
        offset += u64::try_from(taken).unwrap_or_default();
        line += u64::from(newline.is_some());
        open = newline.is_none();
    }
    if first > 1 && reader.fill_buf()?.is_empty() {
        return Err(LinesError::PastEnd { lines: first - 1 });
    }
    Ok(offset)
}

/// Cuts characters that the window's ends have cut in half; `None` if it is no text.
pub(crate) fn text(window: Window, size: u64) -> Option<(String, Window)> {
    let Window { mut bytes, offset, lines, capped } = window;
    let half = if offset > 0 { bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count() } else { 0 };
    bytes.drain(..half);
    let offset = offset + u64::try_from(half).ok()?;
    if let Err(error) = std::str::from_utf8(&bytes) {
        let at_end = offset + u64::try_from(bytes.len()).ok()? >= size;
        if error.error_len().is_some() || at_end {
            return None;
        }
        bytes.truncate(error.valid_up_to());
    }
    if bytes.contains(&0) {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    Some((text, Window { bytes: Vec::new(), offset, lines, capped }))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn some_lines(text: &str, first: u64, count: Option<u64>, cap: u64) -> (String, u64, Option<u64>, bool) {
        let window = lines(text.as_bytes(), first, count, cap, &CancellationToken::new()).unwrap();
        (String::from_utf8(window.bytes).unwrap(), window.offset, window.lines, window.capped)
    }

    #[test]
    fn lines_are_counted_from_one_and_the_last_needs_no_end() {
        let text = "one\ntwo\nthree";
        assert_eq!(some_lines(text, 2, Some(1), 99), ("two\n".into(), 4, Some(1), false));
        assert_eq!(some_lines(text, 2, None, 99), ("two\nthree".into(), 4, Some(2), false));
        assert_eq!(some_lines("", 1, None, 99), (String::new(), 0, Some(0), false));
    }

    #[test]
    fn a_cap_ends_at_a_whole_line_if_there_is_one() {
        assert_eq!(some_lines("one\ntwo\n", 1, None, 6), ("one\n".into(), 0, Some(1), true));
        assert_eq!(some_lines("one\ntwo\n", 1, None, 2), ("on".into(), 0, None, true));
        assert_eq!(some_lines("one\ntwo\n", 1, None, 8), ("one\ntwo\n".into(), 0, Some(2), false));
    }

    #[test]
    fn a_line_past_the_end_says_how_many_there_are() {
        for (text, wanted) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2)] {
            let error = lines(text.as_bytes(), 9, None, 99, &CancellationToken::new()).unwrap_err();
            assert!(matches!(error, LinesError::PastEnd { lines } if lines == wanted), "{text:?} {error:?}");
        }
    }

    #[test]
    fn the_last_lines_are_found_from_the_end_and_numbered() {
        let tail = |text: &str, last, count, cap| {
            let (window, first) = last_lines(Cursor::new(text), last, count, cap, &CancellationToken::new()).unwrap();
            (String::from_utf8(window.bytes).unwrap(), window.offset, first, window.lines)
        };
        for text in ["one\ntwo\nthree\n", "one\ntwo\nthree"] {
            let three = text.strip_prefix("one\ntwo\n").unwrap();
            assert_eq!(tail(text, 1, None, 99), (three.into(), 8, Some(3), Some(1)));
            assert_eq!(tail(text, 2, Some(1), 99), ("two\n".into(), 4, Some(2), Some(1)));
            for all in [3, 4, u64::MAX] {
                assert_eq!(tail(text, all, None, 99), (text.into(), 0, Some(1), Some(3)));
            }
        }
        assert_eq!(tail("", 5, None, 99), (String::new(), 0, Some(1), Some(0)));
        assert_eq!(tail("\n\n", 1, None, 99), ("\n".into(), 1, Some(2), Some(1)));
        // Over the pieces that it is read in, and cut where the cap says.
        let long: String = (0..40_000).map(|n| format!("line {n}\n")).collect();
        let (window, offset, first, lines) = tail(&long, 39_000, None, 30);
        assert_eq!((window.as_str(), first, lines), ("line 1000\nline 1001\nline 1002\n", Some(1_001), Some(3)));
        assert_eq!(&long[usize::try_from(offset).unwrap()..][..9], "line 1000");
        let line = "a".repeat(200_000);
        assert_eq!(tail(&format!("x\n{line}\ny"), 2, None, 10), ("a".repeat(10), 2, Some(2), None));
    }

    #[test]
    fn bytes_that_the_cap_cuts_end_with_a_whole_line() {
        let cut = |length, cap| at_line_end(bytes(Cursor::new("one\ntwo\nthree"), 0, length, cap).unwrap()).bytes;
        assert_eq!(cut(None, 6), b"one\n");
        assert_eq!(cut(None, 3), b"one");
        assert_eq!(cut(Some(6), 99), b"one\ntw", "as many as were asked for");
    }

    #[test]
    fn characters_cut_in_half_are_left_out_and_broken_ones_are_no_text() {
        let file = "aäb".as_bytes();
        let cut = |offset, length| text(bytes(Cursor::new(file), offset, length, 99).unwrap(), 4).map(|(text, _)| text);
        assert_eq!(cut(0, Some(2)).as_deref(), Some("a"));
        assert_eq!(cut(2, None).as_deref(), Some("b"));
        let broken = bytes(Cursor::new(b"a\xE4b"), 0, None, 99).unwrap();
        assert!(text(broken, 3).is_none());
        let half = bytes(Cursor::new(b"a\xC3"), 0, None, 99).unwrap();
        assert!(text(half, 2).is_none());
    }
}
