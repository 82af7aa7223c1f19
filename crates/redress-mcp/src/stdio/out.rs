//! The way out: lines on their way to a host that may read them slowly, or never.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

/// How many lines wait to be written.
const LINES: usize = 64;
/// How many bytes of answers wait to be written, from which on nothing more is read: what is not asked for needs no
/// answer.
pub(super) const MAX_UNWRITTEN: usize = 8 * 1024 * 1024;

/// A line to be written.
#[derive(Debug)]
pub(super) struct OutLine {
    pub(super) bytes: Bytes,
    pub(super) weight: Weight,
}

/// What a line weighs until it is written.
#[derive(Debug)]
pub(super) struct Weight {
    unwritten: Arc<UnwrittenBytes>,
    bytes: usize,
}

impl Drop for Weight {
    fn drop(&mut self) {
        let before = self.unwritten.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        if before > MAX_UNWRITTEN && before - self.bytes <= MAX_UNWRITTEN {
            self.unwritten.written.notify_waiters();
        }
    }
}

#[derive(Debug, Default)]
struct UnwrittenBytes {
    bytes: AtomicUsize,
    written: Notify,
}

/// Where lines go.
#[derive(Clone, Debug)]
pub(super) struct Out {
    lines: mpsc::Sender<OutLine>,
    unwritten: Arc<UnwrittenBytes>,
}

/// That nobody writes lines any more.
#[derive(Debug)]
pub(super) struct Closed;

impl Out {
    /// The way out, and where lines are taken from to be written.
    pub(super) fn new() -> (Out, mpsc::Receiver<OutLine>) {
        let (lines, written) = mpsc::channel(LINES);
        (Out { lines, unwritten: Arc::default() }, written)
    }

    fn line(&self, bytes: Bytes) -> OutLine {
        self.unwritten.bytes.fetch_add(bytes.len(), Ordering::AcqRel);
        let weight = Weight { unwritten: Arc::clone(&self.unwritten), bytes: bytes.len() };
        OutLine { bytes, weight }
    }

    /// Sends a line once there is room for it. It weighs from now on.
    pub(super) async fn send(&self, line: impl Into<Bytes>) -> Result<(), Closed> {
        self.lines.send(self.line(line.into())).await.map_err(|_| Closed)
    }

    /// Sends a line, if there is room for it.
    pub(super) fn offer(&self, line: Vec<u8>) {
        if !self.is_full() {
            let _ = self.lines.try_send(self.line(line.into()));
        }
    }

    /// Whether so much waits to be written that nothing more is to be asked for.
    pub(super) fn is_full(&self) -> bool {
        self.unwritten.bytes.load(Ordering::Acquire) > MAX_UNWRITTEN
    }

    /// Resolves when it is not full.
    pub(super) async fn drained(&self) {
        loop {
            let mut written = std::pin::pin!(self.unwritten.written.notified());
            written.as_mut().enable();
            if !self.is_full() {
                return;
            }
            written.await;
        }
    }

    /// Resolves when nobody writes lines any more.
    pub(super) async fn closed(&self) {
        self.lines.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_makes_room_for_more() {
        let (out, mut lines) = Out::new();
        out.send(vec![0; MAX_UNWRITTEN]).await.unwrap();
        assert!(!out.is_full());
        out.send(vec![0; 1]).await.unwrap();
        assert!(out.is_full());
        out.offer(vec![0; 1]);
        let mut drained = std::pin::pin!(out.drained());
        assert!(futures_util::poll!(&mut drained).is_pending());
        drop(lines.recv().await);
        drained.await;
        drop(lines.recv().await);
        assert!(lines.try_recv().is_err(), "what was only offered found no room");
        assert_eq!(out.unwritten.bytes.load(Ordering::Acquire), 0);
    }
}
