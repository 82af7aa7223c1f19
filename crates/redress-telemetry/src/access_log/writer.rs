//! The thread that writes the log.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::Receiver,
    },
    time::SystemTime,
};

use super::{LogTarget, Order, line, next};

/// How many bytes are gathered before they are written, while more are waiting.
const GATHERED: usize = 64 * 1024;

pub(super) struct Writer {
    target: LogTarget,
    to: Box<dyn Write + Send>,
    gathered: Vec<u8>,
    /// How many lines are in `gathered`.
    lines: u64,
    dropped: Arc<AtomicU64>,
    /// How many of them the log has told.
    told: u64,
    broken: bool,
}

impl Writer {
    pub(super) fn open(target: LogTarget, dropped: Arc<AtomicU64>) -> io::Result<Writer> {
        let to = open(&target)?;
        Ok(Writer { target, to, gathered: Vec::new(), lines: 0, dropped, told: 0, broken: false })
    }

    /// Writes until the log is gone. Lines that come together are written together.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        while let Some(order) = next(orders) {
            let mut order = Some(order);
            while let Some(now) = order {
                self.obey(now);
                order = if self.gathered.len() < GATHERED { orders.try_recv().ok() } else { None };
            }
            self.write();
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Write(line) => {
                self.gathered.extend_from_slice(&line);
                self.lines += 1;
            }
            Order::Flush(done) => {
                self.write();
                let _ = done.send(());
            }
            Order::Reopen(done) => {
                self.write();
                let opened = open(&self.target).map(|to| self.to = to);
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
        match self.to.write_all(&self.gathered).and_then(|()| self.to.flush()) {
            Ok(()) => {
                self.told = lost;
                self.broken = false;
            }
            Err(error) => {
                self.dropped.fetch_add(self.lines, Relaxed);
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

fn open(target: &LogTarget) -> io::Result<Box<dyn Write + Send>> {
    Ok(match target {
        LogTarget::Stderr => Box::new(io::stderr()),
        LogTarget::Stdout => Box::new(io::stdout()),
        // Each write looks for the end of the file, so that two programs may share it.
        LogTarget::File(path) => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
    })
}
