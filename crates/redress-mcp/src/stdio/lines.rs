//! Lines in and lines out. Both block, so each has a thread of its own.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use tokio::sync::mpsc;

/// One line of the input.
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// Reads lines until the input ends or nobody takes them. What is too long is read over.
pub(super) fn read(input: impl Read, longest: usize, lines: &mpsc::Sender<Line>) {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + part.len() > longest {
            too_long = true;
            line.clear();
        } else if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() && !hand_over(lines, &mut line, &mut too_long) {
            return;
        }
    }
    // The last line may have no end.
    hand_over(lines, &mut line, &mut too_long);
}

/// Hands a line over, unless it is empty; says whether anybody took it.
fn hand_over(lines: &mpsc::Sender<Line>, line: &mut Vec<u8>, too_long: &mut bool) -> bool {
    let whole = std::mem::take(line);
    if std::mem::take(too_long) {
        return lines.blocking_send(Line::TooLong).is_ok();
    }
    whole.trim_ascii().is_empty() || lines.blocking_send(Line::Whole(whole)).is_ok()
}

/// Writes lines until there are no more. What is at hand goes out together.
pub(super) fn write(mut output: impl Write, mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(line) = lines.blocking_recv() {
        buffer.clear();
        let mut next = Some(line);
        while let Some(line) = next {
            buffer.extend_from_slice(&line);
            buffer.push(b'\n');
            next = if buffer.len() < 64 * 1024 { lines.try_recv().ok() } else { None };
        }
        output.write_all(&buffer)?;
        output.flush()?;
    }
    Ok(())
}
