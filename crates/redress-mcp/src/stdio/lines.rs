//! Lines in and lines out, where both block: each has a thread of its own.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::out::{OutLine, Weight};

/// How many bytes go in or out at once.
pub(super) const CHUNK: usize = 64 * 1024;

/// One line of the input.
pub(super) enum InputLine {
    Whole(Vec<u8>),
    TooLong,
}

/// Finds the lines in what comes in piece by piece. What is too long is read over.
pub(super) struct Splitter {
    longest: usize,
    line: Vec<u8>,
    too_long: bool,
}

impl Splitter {
    pub(super) fn new(longest: usize) -> Splitter {
        Splitter { longest, line: Vec::new(), too_long: false }
    }

    /// Takes what belongs to the line that is open. Gives how much that was, and the line if it is
    /// whole now and not empty.
    pub(super) fn take(&mut self, chunk: &[u8]) -> (usize, Option<InputLine>) {
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if self.line.len() + part.len() > self.longest {
            self.too_long = true;
            self.line.clear();
        } else if !self.too_long {
            self.line.extend_from_slice(part);
        }
        match end {
            Some(end) => (end + 1, self.last()),
            None => (chunk.len(), None),
        }
    }

    /// The line that is open: the last one may have no end.
    pub(super) fn last(&mut self) -> Option<InputLine> {
        let whole = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.too_long) {
            return Some(InputLine::TooLong);
        }
        (!whole.trim_ascii().is_empty()).then_some(InputLine::Whole(whole))
    }
}

/// Reads lines until the input ends or nobody takes them.
pub(super) fn read(input: impl Read, longest: usize, lines: &mpsc::Sender<InputLine>) {
    let mut input = BufReader::with_capacity(CHUNK, input);
    let mut splitter = Splitter::new(longest);
    loop {
        let (used, line) = match input.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => splitter.take(chunk),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        input.consume(used);
        if line.is_some_and(|line| lines.blocking_send(line).is_err()) {
            return;
        }
    }
    if let Some(line) = splitter.last() {
        // Where nobody takes lines any more, the last one is not wanted either.
        let _ = lines.blocking_send(line);
    }
}

/// Writes lines until there are no more.
pub(super) fn write(mut output: impl Write, mut lines: mpsc::Receiver<OutLine>) -> io::Result<()> {
    let mut gathered = Gathered::default();
    while let Some(line) = lines.blocking_recv() {
        for part in gathered.gather(line, &mut lines) {
            output.write_all(part)?;
        }
        output.flush()?;
        gathered.written();
    }
    Ok(())
}

/// Lines that go out together.
#[derive(Default)]
pub(super) struct Gathered {
    /// A long line, which goes out as it is: a copy of it would weigh as much again.
    long: Bytes,
    /// What goes out after it.
    buffer: Vec<u8>,
    weights: Vec<Weight>,
}

impl Gathered {
    /// Takes `line` and what else is at hand.
    pub(super) fn gather(&mut self, line: OutLine, lines: &mut mpsc::Receiver<OutLine>) -> [&[u8]; 2] {
        let mut next = Some(line);
        while let Some(OutLine { bytes, weight }) = next {
            if self.buffer.is_empty() && bytes.len() >= CHUNK {
                self.long = bytes;
            } else {
                self.buffer.extend_from_slice(&bytes);
            }
            self.buffer.push(b'\n');
            self.weights.push(weight);
            let more = self.long.is_empty() && self.buffer.len() < CHUNK;
            next = if more { lines.try_recv().ok() } else { None };
        }
        [&self.long, &self.buffer]
    }

    /// Lets go of what was written.
    pub(super) fn written(&mut self) {
        self.long = Bytes::new();
        self.buffer.clear();
        self.buffer.shrink_to(2 * CHUNK);
        self.weights.clear();
    }
}
