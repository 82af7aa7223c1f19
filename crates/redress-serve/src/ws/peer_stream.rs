//! The items of a stream from the other side of a connection, on their way to their reader.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_core::Stream;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{
    PeerError,
    frame::units,
    peer::{PeerRequest, PeerResult},
};

/// A stream from the other side of a connection: items, then its end, which is an error where
/// it is a bad one. Dropping it aborts the stream.
pub struct PeerStream {
    items: Outbox,
    _asked: PeerRequest,
}

/// Where items are put as they come. It never holds up who puts them.
pub(super) struct Inbox {
    sender: mpsc::UnboundedSender<PeerResult>,
    /// How many small messages wait; a large one counts for several.
    held: Arc<AtomicUsize>,
    window: usize,
}

/// Where items are read from.
pub(super) struct Outbox {
    receiver: mpsc::UnboundedReceiver<PeerResult>,
    held: Arc<AtomicUsize>,
}

/// That no more items fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InboxFull;

impl Inbox {
    pub(super) fn new(window: usize) -> (Inbox, Outbox) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let held = Arc::new(AtomicUsize::new(0));
        (Inbox { sender, held: Arc::clone(&held), window }, Outbox { receiver, held })
    }

    pub(super) fn put(&self, item: &RawValue) -> Result<(), InboxFull> {
        // One task puts, so nothing is added between the look and the addition.
        let weight = units(item.get().len());
        if self.held.load(Ordering::Acquire).saturating_add(weight) > self.window.max(1) {
            return Err(InboxFull);
        }
        self.held.fetch_add(weight, Ordering::AcqRel);
        // A reader that has gone needs no items.
        let _ = self.sender.send(Ok(item.to_owned()));
        Ok(())
    }

    pub(super) fn end(self, ended: Result<(), PeerError>) {
        if let Err(error) = ended {
            let _ = self.sender.send(Err(error));
        }
    }
}

impl PeerStream {
    pub(super) fn new(items: Outbox, asked: PeerRequest) -> PeerStream {
        PeerStream { items, _asked: asked }
    }
}

impl Stream for PeerStream {
    type Item = Result<Box<RawValue>, PeerError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let items = &mut self.items;
        let polled = items.receiver.poll_recv(cx);
        if let Poll::Ready(Some(Ok(item))) = &polled {
            items.held.fetch_sub(units(item.get().len()), Ordering::AcqRel);
        }
        polled
    }
}

impl std::fmt::Debug for PeerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waiting = self.items.held.load(Ordering::Relaxed);
        f.debug_struct("PeerStream").field("waiting", &waiting).finish_non_exhaustive()
    }
}
