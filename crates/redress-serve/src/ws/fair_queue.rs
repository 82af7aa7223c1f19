//! What waits to be written: one lane for each call and stream, served in turns.
//!
//! A lane holds at most a window of messages, so a stream is pulled only as fast as its own
//! lane empties, and a stream that floods its lane takes no more turns than one that trickles.
//! What is not part of a call (refusals, aborts, pings) waits in front of all lanes, and is
//! bounded as well: who does not read its refusals is not read from either.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::{WebSocketLimits, frame::Frame};

/// How many messages may wait in front of all lanes.
const FRONT: u32 = 64;
/// The lane of the server's own calls, which is always open.
const OWN: u64 = 0;

/// What a connection holds at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebSocketLoad {
    /// Calls under way, from the request until the answer is written.
    pub calls: usize,
    /// Streams that are open.
    pub streams: usize,
    /// Messages that wait to be written.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
    /// The most messages that ever waited.
    pub max_messages: usize,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    Call,
    Stream,
}

/// Why a lane did not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueRefused {
    /// A call of this id is still under way.
    SameId,
    /// There are as many as there may be.
    Full { limit: usize },
}

/// How a connection ends: a close code and its reason.
pub(super) type Close = (u16, &'static str);

/// Everything that waits to be written to one connection.
#[derive(Debug)]
pub(super) struct FairQueue {
    state: Mutex<FairQueueState>,
    limits: WebSocketLimits,
    front_room: Semaphore,
    /// Wakes the writer.
    wake: Notify,
    /// Wakes who waits for the last call to end.
    emptied: Notify,
}

#[derive(Debug, Default)]
struct FairQueueState {
    front: VecDeque<(Frame, u32)>,
    fair_queue: HashMap<u64, CallQueueState>,
    ids: HashMap<Arc<str>, u64>,
    /// The lanes that have something to write, in the order of their turns.
    turns: VecDeque<u64>,
    opened: u64,
    load: WebSocketLoad,
    close: Option<Close>,
}

#[derive(Debug)]
struct CallQueueState {
    id: Arc<str>,
    sort: Option<RequestKind>,
    waiting: VecDeque<(Frame, u32)>,
    room: Arc<Semaphore>,
    abort: CancellationToken,
    ended: bool,
}

/// The way of one call's messages to the writer. Dropping it frees its id.
#[derive(Debug)]
pub(super) struct CallQueue {
    fair_queue: Arc<FairQueue>,
    number: u64,
    room: Arc<Semaphore>,
    /// Tells that nobody wants the call any more.
    pub(super) abort: CancellationToken,
    pub(super) id: Arc<str>,
    ended: bool,
}

/// The room for one message, taken before there is one.
#[derive(Debug)]
pub(super) struct SendPermit(());

impl FairQueue {
    pub(super) fn new(limits: WebSocketLimits) -> Arc<FairQueue> {
        let fair_queue = FairQueue {
            state: Mutex::default(),
            limits,
            front_room: Semaphore::new(FRONT as usize),
            wake: Notify::new(),
            emptied: Notify::new(),
        };
        fair_queue
            .state()
            .fair_queue
            .insert(OWN, CallQueueState::new("".into(), None, &limits, CancellationToken::new()));
        Arc::new(fair_queue)
    }

    fn state(&self) -> MutexGuard<'_, FairQueueState> {
        // Nothing between lock and unlock panics, so poison says nothing here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the lane of a new call; when `gone` is cancelled, so is the call.
    pub(super) fn open(
        self: &Arc<FairQueue>,
        id: &str,
        sort: RequestKind,
        gone: &CancellationToken,
    ) -> Result<CallQueue, QueueRefused> {
        let mut state = self.state();
        if state.ids.contains_key(id) {
            return Err(QueueRefused::SameId);
        }
        let (count, limit) = match sort {
            RequestKind::Call => (&mut state.load.calls, self.limits.calls),
            RequestKind::Stream => (&mut state.load.streams, self.limits.streams),
        };
        if *count >= limit {
            return Err(QueueRefused::Full { limit });
        }
        *count += 1;
        state.opened += 1;
        let number = state.opened;
        let id: Arc<str> = id.into();
        let queue = CallQueueState::new(Arc::clone(&id), Some(sort), &self.limits, gone.child_token());
        let (room, abort) = (Arc::clone(&queue.room), queue.abort.clone());
        state.ids.insert(Arc::clone(&id), number);
        state.fair_queue.insert(number, queue);
        Ok(CallQueue { fair_queue: Arc::clone(self), number, room, abort, id, ended: false })
    }

    /// Waits until another message may wait in front of all lanes.
    pub(super) async fn front_room(&self) -> SendPermit {
        if let Ok(permit) = self.front_room.acquire().await {
            permit.forget();
        }
        SendPermit(())
    }

    /// Puts a message in front of all lanes.
    pub(super) fn put_in_front(&self, _: SendPermit, frame: Frame) {
        let mut state = self.state();
        state.load.add(frame.bytes());
        state.front.push_back((frame, 1));
        drop(state);
        self.wake.notify_one();
    }

    /// Puts a ping in front of all lanes; not a second one.
    pub(super) fn ping(&self) {
        let mut state = self.state();
        if !state.front.iter().any(|(frame, _)| matches!(frame, Frame::Ping)) {
            state.load.add(0);
            state.front.push_back((Frame::Ping, 0));
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until another message of the server's own may wait, and puts it there.
    pub(super) async fn put_own(&self, frame: Frame) {
        let weight = frame.weight(self.limits.window);
        let room = self.state().fair_queue.get(&OWN).map(|own| Arc::clone(&own.room));
        if let Some(room) = room
            && let Ok(permit) = room.acquire_many_owned(weight).await
        {
            permit.forget();
            self.push(OWN, frame, weight, false);
        }
    }

    /// Puts a message of the server's own that follows one which found its room: it takes none.
    pub(super) fn put_own_after(&self, frame: Frame) {
        self.push(OWN, frame, 0, false);
    }

    /// Aborts the call of this id: what it still had to say is dropped, and `last` written in
    /// its place. An id that is not known is let be.
    pub(super) fn abort(&self, id: &str, room: SendPermit, last: Frame) {
        let number = self.state().ids.get(id).copied();
        match number {
            Some(number) => {
                self.remove(number);
                self.put_in_front(room, last);
            }
            None => self.front_room.add_permits(1),
        }
    }

    /// Aborts every call and drops what waits in the lanes.
    pub(super) fn abort_all(&self) {
        let numbers: Vec<u64> = self.state().fair_queue.keys().copied().filter(|number| *number != OWN).collect();
        numbers.into_iter().for_each(|number| self.remove(number));
    }

    /// The next message to be written. Everything in front comes first, then one message of
    /// each lane in turn.
    pub(super) fn next(&self) -> Option<Frame> {
        let mut state = self.state();
        if let Some((frame, weight)) = state.front.pop_front() {
            state.load.take(&frame);
            self.front_room.add_permits(weight as usize);
            return Some(frame);
        }
        while let Some(number) = state.turns.pop_front() {
            // A lane that was aborted leaves its turn behind.
            let Some(queue) = state.fair_queue.get_mut(&number) else { continue };
            let Some((frame, weight)) = queue.waiting.pop_front() else { continue };
            queue.room.add_permits(weight as usize);
            let (more, ended) = (!queue.waiting.is_empty(), queue.ended);
            state.load.take(&frame);
            if more {
                state.turns.push_back(number);
            } else if ended {
                drop(state);
                self.remove(number);
            }
            return Some(frame);
        }
        None
    }

    /// Resolves when there is something to write, or to close.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Resolves when no call and no stream is left.
    pub(super) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.state().ids.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// Asks the writer to close the connection once nothing waits.
    pub(super) fn close(&self, close: Close) {
        self.state().close = Some(close);
        self.wake.notify_one();
    }

    /// How the connection is to be closed, if it is.
    pub(super) fn closing(&self) -> Option<Close> {
        self.state().close
    }

    /// What the connection holds now.
    pub(super) fn load(&self) -> WebSocketLoad {
        self.state().load
    }

    fn push(&self, number: u64, frame: Frame, weight: u32, ends: bool) {
        let mut state = self.state();
        // A lane that was aborted takes nothing more.
        let Some(queue) = state.fair_queue.get_mut(&number) else { return };
        queue.ended |= ends;
        let was_empty = queue.waiting.is_empty();
        let bytes = frame.bytes();
        queue.waiting.push_back((frame, weight));
        state.load.add(bytes);
        if was_empty {
            state.turns.push_back(number);
        }
        drop(state);
        self.wake.notify_one();
    }

    fn remove(&self, number: u64) {
        let mut state = self.state();
        let Some(queue) = state.fair_queue.remove(&number) else { return };
        state.ids.remove(&queue.id);
        queue.waiting.iter().for_each(|(frame, _)| state.load.take(frame));
        match queue.sort {
            Some(RequestKind::Call) => state.load.calls -= 1,
            Some(RequestKind::Stream) => state.load.streams -= 1,
            None => {}
        }
        let empty = state.ids.is_empty();
        drop(state);
        queue.abort.cancel();
        if empty {
            self.emptied.notify_waiters();
        }
    }
}

impl CallQueueState {
    fn new(
        id: Arc<str>,
        sort: Option<RequestKind>,
        limits: &WebSocketLimits,
        abort: CancellationToken,
    ) -> CallQueueState {
        let room = Arc::new(Semaphore::new(limits.window.max(1) as usize));
        CallQueueState { id, sort, waiting: VecDeque::new(), room, abort, ended: false }
    }
}

impl WebSocketLoad {
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes;
        self.max_messages = self.max_messages.max(self.messages);
    }

    fn take(&mut self, frame: &Frame) {
        self.messages -= 1;
        self.bytes -= frame.bytes();
    }
}

impl CallQueue {
    /// Waits until another message of this lane may wait.
    pub(super) async fn room(&self) -> SendPermit {
        if let Ok(permit) = self.room.acquire().await {
            permit.forget();
        }
        SendPermit(())
    }

    /// Puts a message into the lane. One that is large waits for more room first.
    pub(super) async fn put(&self, _: SendPermit, frame: Frame) {
        let weight = frame.weight(self.fair_queue.limits.window);
        if let Ok(permit) = self.room.acquire_many(weight.saturating_sub(1)).await {
            permit.forget();
        }
        self.fair_queue.push(self.number, frame, weight, false);
    }

    /// Puts the last message into the lane. It needs no room, since there is only one.
    pub(super) fn end(mut self, frame: Frame) {
        self.ended = true;
        self.fair_queue.push(self.number, frame, 0, true);
    }
}

impl Drop for CallQueue {
    fn drop(&mut self) {
        if !self.ended {
            self.fair_queue.remove(self.number);
        }
    }
}
