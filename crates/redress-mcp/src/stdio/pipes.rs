//! Lines in and lines out over two pipes, which is how hosts start a server: both are waited for
//! together with everything else, and no message changes threads on its way.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _},
};

use tokio::{
    io::AsyncWriteExt as _,
    net::unix::pipe::{OpenOptions, Receiver, Sender},
    sync::mpsc,
};

use super::{
    lines::{CHUNK, Gathered, InputLine, Splitter},
    out::OutLine,
};

/// The input of this process and this output, if both are pipes.
///
/// They are opened anew: that they do not block must not reach whoever else holds them.
pub(super) fn open(output: impl AsFd) -> Option<(Receiver, Sender)> {
    let path = |number: i32| format!("/proc/self/fd/{number}");
    let output = output.as_fd().as_raw_fd();
    let input = OpenOptions::new().open_receiver(path(io::stdin().as_raw_fd())).ok()?;
    Some((input, OpenOptions::new().open_sender(path(output)).ok()?))
}

/// The lines of a pipe.
pub(super) struct PipeLines {
    pipe: Receiver,
    chunk: Vec<u8>,
    /// What of the chunk is not split yet.
    left: std::ops::Range<usize>,
    splitter: Splitter,
    ended: bool,
}

impl PipeLines {
    pub(super) fn new(pipe: Receiver, longest: usize) -> PipeLines {
        PipeLines { pipe, chunk: vec![0; CHUNK], left: 0..0, splitter: Splitter::new(longest), ended: false }
    }

    /// The next line; nothing once the input has ended. Dropping the future loses nothing: what
    /// was read is kept here.
    pub(super) async fn next(&mut self) -> Option<InputLine> {
        loop {
            while let Some(chunk) = self.chunk.get(self.left.clone()).filter(|chunk| !chunk.is_empty()) {
                let (used, line) = self.splitter.take(chunk);
                self.left.start += used;
                if line.is_some() {
                    return line;
                }
            }
            if self.ended {
                return None;
            }
            let read = match self.pipe.readable().await {
                Ok(()) => self.pipe.try_read(&mut self.chunk),
                Err(error) => Err(error),
            };
            match read {
                Ok(count @ 1..) => self.left = 0..count,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Ok(0) | Err(_) => {
                    self.ended = true;
                    return self.splitter.last();
                }
            }
        }
    }
}

/// Writes lines until there are no more.
pub(super) async fn write(mut pipe: Sender, mut lines: mpsc::Receiver<OutLine>) -> io::Result<()> {
    let mut gathered = Gathered::default();
    while let Some(line) = lines.recv().await {
        for part in gathered.gather(line, &mut lines) {
            pipe.write_all(part).await?;
        }
        gathered.written();
    }
    Ok(())
}
