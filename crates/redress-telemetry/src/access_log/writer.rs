//! The thread that writes the log.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::Receiver,
    },
    time::SystemTime,
};

use super::{LogCommand, LogTarget, line, next};

/// How many bytes are gathered before they are written, while more are waiting.
const GATHERED: usize = 64 * 1024;

pub(super) struct LogWriter {
    target: LogTarget,
    to: Box<dyn Write + Send>,
    gathered: Vec<u8>,
    /// How many lines are in `gathered`.
    lines: u64,
    dropped: Arc<AtomicU64>,
    /// How many of them the log has told.
    told: u64,
    broken: bool,
    /// Whether what was written last ends in the middle of a line.
    torn: bool,
}

impl LogWriter {
    pub(super) fn open(target: LogTarget, dropped: Arc<AtomicU64>) -> io::Result<LogWriter> {
        let to = open(&target)?;
        Ok(LogWriter { target, to, gathered: Vec::new(), lines: 0, dropped, told: 0, broken: false, torn: false })
    }

    /// Writes until the log is gone. Lines that come together are written together.
    pub(super) fn run(mut self, orders: &Receiver<LogCommand>) {
        while let Some(order) = next(orders) {
            let mut order = Some(order);
            while let Some(now) = order {
                self.obey(now);
                order = if self.gathered.len() < GATHERED { orders.try_recv().ok() } else { None };
            }
            self.write();
        }
    }

    fn obey(&mut self, order: LogCommand) {
        match order {
            LogCommand::Write(line) => {
                self.gathered.extend_from_slice(&line);
                self.lines += 1;
            }
            LogCommand::Flush(done) => {
                self.write();
                let _ = done.send(());
            }
            LogCommand::Reopen(done) => {
                self.write();
                let opened = open(&self.target).map(|to| {
                    self.to = to;
                    self.torn &= !is_empty(&self.target);
                });
                let _ = done.send(opened);
            }
        }
    }

    fn write(&mut self) {
        if self.lines == 0 {
            return;
        }
        let lost = self.dropped.load(Relaxed);
        if lost > self.told {
            let time = line::time(SystemTime::now());
            let missing = lost - self.told;
            self.gathered.extend_from_slice(format!("{{\"time\":\"{time}\",\"dropped\":{missing}}}\n").as_bytes());
        }
        let (whole, written) = self.pour();
        match written {
            Ok(()) => {
                self.told = lost;
                self.broken = false;
            }
            Err(error) => {
                self.dropped.fetch_add(self.lines.saturating_sub(whole), Relaxed);
                // One warning for a full disk, not one for each call.
                if !std::mem::replace(&mut self.broken, true) {
                    tracing::warn!(%error, "the access log cannot be written");
                }
            }
        }
        self.gathered.clear();
        self.lines = 0;
    }
}

impl LogWriter {
    /// Writes what was gathered; how many lines of it are there as a whole. A line that was torn gets its end first, so
    /// that it takes no other along.
    fn pour(&mut self) -> (u64, io::Result<()>) {
        if self.torn {
            if let Err(error) = self.to.write_all(b"\n") {
                return (0, Err(error));
            }
            self.torn = false;
        }
        let mut rest = self.gathered.as_slice();
        let ended = loop {
            if rest.is_empty() {
                break self.to.flush();
            }
            match self.to.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        let (there, _) = self.gathered.split_at(self.gathered.len() - rest.len());
        self.torn = there.last().is_some_and(|byte| *byte != b'\n');
        let whole = there.split(|byte| *byte == b'\n').count().saturating_sub(1);
        (u64::try_from(whole).unwrap_or(u64::MAX), ended)
    }
}

fn is_empty(target: &LogTarget) -> bool {
    let LogTarget::File(path) = target else { return false };
    std::fs::metadata(path).is_ok_and(|file| file.len() == 0)
}

fn open(target: &LogTarget) -> io::Result<Box<dyn Write + Send>> {
    Ok(match target {
        LogTarget::Stderr => Box::new(io::stderr()),
        LogTarget::Stdout => Box::new(io::stdout()),
        // Each write looks for the end of the file, so that two programs may share it.
        LogTarget::File(path) => Box::new(redress_disk::append(path)?),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A disk with room for so many bytes, which somebody makes again.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = self.0.lock().unwrap();
            let fits = bytes.len().min(disk.1);
            if fits == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            disk.0.extend_from_slice(&bytes[..fits]);
            disk.1 -= fits;
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_was_torn_takes_no_other_along() {
        let disk = Disk::default();
        let mut writer = LogWriter::open(LogTarget::Stderr, Arc::default()).unwrap();
        writer.to = Box::new(disk.clone());
        let mut log = |room: usize, lines: &[&str]| {
            disk.0.lock().unwrap().1 = room;
            lines.iter().for_each(|line| writer.obey(LogCommand::Write(format!("{line}\n").into_bytes())));
            writer.write();
            (String::from_utf8(disk.0.lock().unwrap().0.clone()).unwrap(), writer.dropped.load(Relaxed))
        };
        assert_eq!(
            log(7, &["one", "two", "three"]),
            ("one\ntwo".to_owned(), 2),
            "two of three are not there as a whole"
        );
        assert_eq!(log(0, &["four"]), ("one\ntwo".to_owned(), 3));
        let (text, dropped) = log(1000, &["five"]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((&lines[..3], dropped), (["one", "two", "five"].as_slice(), 3), "{text}");
        assert!(lines[3].contains("\"dropped\":3") && lines.len() == 4, "{text}");
    }
}
