//! Calls from the server to the other side of a connection, and streams from there.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use redress_contract::Caller;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::oneshot;

use super::{
    WebSocketLimits, WebSocketLoad,
    fair_queue::FairQueue,
    frame::{Frame, FrameKind},
    message::OWN,
    peer_stream::{Inbox, PeerStream},
};

/// The other side of a connection, which can be called too. A clone is the same connection.
#[derive(Clone)]
pub struct Peer(Arc<PeerInner>);

struct PeerInner {
    session: Arc<str>,
    caller: Option<Arc<Caller>>,
    fair_queue: Arc<FairQueue>,
    limits: WebSocketLimits,
    /// How the other side writes, and so how it is written to.
    binary: AtomicBool,
    made: AtomicU64,
    /// Who waits for which answer; nothing once the connection has closed.
    pending: Mutex<Option<HashMap<u64, PeerWaiter>>>,
}

pub(super) type PeerResult = Result<Box<RawValue>, PeerError>;

/// Who waits for what the other side sends.
enum PeerWaiter {
    /// For one answer.
    Call(oneshot::Sender<PeerResult>),
    /// For items, and then an end.
    Stream(Inbox),
}

/// Why a call to the other side gave no output.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The other side answered with a failure.
    #[error("the peer failed with {}", .0.code)]
    Failed(Box<PeerFailure>),
    /// No answer came in time. The other side is told that none is wanted any more.
    #[error("the peer did not answer in time")]
    TimedOut,
    /// The other side does not go on with the call.
    #[error("the peer aborted the call")]
    Aborted,
    /// The other side ended the call with no output.
    #[error("the peer gave no output")]
    NoOutput,
    /// The connection closed first. Whether the call took effect is not known.
    #[error("the connection closed before the answer came")]
    Closed,
    /// The items of a stream came faster than they were read. Those that fitted came first;
    /// the other side is told that no more are wanted.
    #[error("the peer sent items faster than they were read")]
    Overflow,
    /// Too many calls wait for their answers already.
    #[error("{limit} calls to the peer wait for their answers already")]
    Busy {
        /// How many may.
        limit: usize,
    },
    /// The input cannot be written as JSON.
    #[error("the input cannot be written as JSON")]
    Input,
}

/// A failure as the other side tells it. It is the word of a stranger: to pass it on is a
/// choice, and never made here.
#[derive(Clone, Debug, Deserialize)]
pub struct PeerFailure {
    /// The stable name of what happened.
    pub code: String,
    /// What happened, for a person.
    #[serde(default)]
    pub message: String,
    /// Whether the same call may be made again.
    #[serde(default)]
    pub retryable: bool,
    /// What else is known.
    #[serde(default)]
    pub details: Option<Box<RawValue>>,
}

impl Peer {
    pub(super) fn new(
        session: Arc<str>,
        caller: Option<Arc<Caller>>,
        fair_queue: Arc<FairQueue>,
        limits: WebSocketLimits,
    ) -> Peer {
        Peer(Arc::new(PeerInner {
            session,
            caller,
            fair_queue,
            limits,
            binary: AtomicBool::new(false),
            made: AtomicU64::new(0),
            pending: Mutex::new(Some(HashMap::new())),
        }))
    }

    /// The session of the connection, the same as in the `_meta` of its calls.
    pub fn session_id(&self) -> &str {
        &self.0.session
    }

    /// Who is on the other side, where the connection itself says so.
    pub fn caller(&self) -> Option<&Caller> {
        self.0.caller.as_deref()
    }

    /// What the connection holds now.
    pub fn load(&self) -> WebSocketLoad {
        self.0.fair_queue.load()
    }

    /// Calls an operation that the other side offers. Dropping the call aborts it.
    pub async fn call(&self, operation: &str, input: &impl Serialize) -> Result<Box<RawValue>, PeerError> {
        self.call_within(self.0.limits.peer_deadline, operation, input).await
    }

    /// Calls an operation that the other side offers, and waits for at most `deadline`.
    pub async fn call_within(
        &self,
        deadline: Duration,
        operation: &str,
        input: &impl Serialize,
    ) -> Result<Box<RawValue>, PeerError> {
        let input = to_raw_value(input).map_err(|_| PeerError::Input)?;
        let (sender, answer) = oneshot::channel();
        let mut asked = self.ask(PeerWaiter::Call(sender))?;
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let frame = Frame::requested(self.carriage(), &asked.id(), operation, &input, Some(deadline_ms));
        let answered = async {
            self.0.fair_queue.put_own(frame).await;
            asked.sent = true;
            // Only a connection that closes drops the sender.
            answer.await.unwrap_or(Err(PeerError::Closed))
        };
        tokio::time::timeout(deadline, answered).await.unwrap_or(Err(PeerError::TimedOut))
    }

    /// Subscribes to an operation that the other side offers. Dropping the stream aborts it.
    ///
    /// Items wait to be read in a window of their own, so a stream that is not read holds up
    /// neither another nor a call; once its window is full it ends with
    /// [`PeerError::Overflow`].
    pub async fn subscribe(&self, operation: &str, input: &impl Serialize) -> Result<PeerStream, PeerError> {
        let input = to_raw_value(input).map_err(|_| PeerError::Input)?;
        let (inbox, items) = Inbox::new(self.0.limits.peer_window);
        let mut asked = self.ask(PeerWaiter::Stream(inbox))?;
        let frame = Frame::requested(self.carriage(), &asked.id(), operation, &input, None);
        self.0.fair_queue.put_own(frame).await;
        asked.sent = true;
        Ok(PeerStream::new(items, asked))
    }

    fn ask(&self, waiting: PeerWaiter) -> Result<PeerRequest, PeerError> {
        let mut pending = self.0.pending();
        let all = pending.as_mut().ok_or(PeerError::Closed)?;
        let limit = self.0.limits.peer_calls;
        if all.len() >= limit {
            return Err(PeerError::Busy { limit });
        }
        let number = self.0.made.fetch_add(1, Ordering::Relaxed) + 1;
        all.insert(number, waiting);
        Ok(PeerRequest { peer: self.clone(), number, sent: false })
    }

    fn carriage(&self) -> FrameKind {
        if self.0.binary.load(Ordering::Relaxed) { FrameKind::Binary } else { FrameKind::Text }
    }

    pub(super) fn writes(&self, carriage: FrameKind) {
        self.0.binary.store(carriage == FrameKind::Binary, Ordering::Relaxed);
    }

    /// Hands an output to who waits for it. An id that nobody waits for is let be: the call
    /// may just have timed out.
    pub(super) fn give(&self, id: &str, output: &RawValue) {
        let Some(number) = number(id) else { return };
        let mut pending = self.0.pending();
        let Some(all) = pending.as_mut() else { return };
        match all.get(&number) {
            Some(PeerWaiter::Stream(inbox)) if inbox.put(output).is_ok() => return,
            Some(PeerWaiter::Stream(_) | PeerWaiter::Call(_)) => {}
            None => return,
        }
        let waiting = all.remove(&number);
        drop(pending);
        match waiting {
            Some(PeerWaiter::Call(answer)) => {
                // Who no longer waits needs no answer.
                let _ = answer.send(Ok(output.to_owned()));
            }
            Some(PeerWaiter::Stream(inbox)) => {
                inbox.end(Err(PeerError::Overflow));
                self.0.fair_queue.put_own_after(Frame::aborted(self.carriage(), id));
            }
            None => {}
        }
    }

    /// Ends what waits under this id, well or badly. An id that nobody waits for is let be.
    pub(super) fn end(&self, id: &str, ended: Result<(), PeerError>) {
        let waiting = number(id).and_then(|number| self.0.pending().as_mut()?.remove(&number));
        end(waiting, ended);
    }

    /// Fails everything that waits, and every later call.
    pub(super) fn close(&self) {
        let waiting = self.0.pending().take();
        for waiting in waiting.into_iter().flat_map(HashMap::into_values) {
            end(Some(waiting), Err(PeerError::Closed));
        }
    }
}

/// The number of a call of the server's own.
fn number(id: &str) -> Option<u64> {
    id.strip_prefix(OWN)?.parse().ok()
}

/// Tells who waits that nothing more comes.
fn end(waiting: Option<PeerWaiter>, ended: Result<(), PeerError>) {
    match waiting {
        Some(PeerWaiter::Call(answer)) => {
            // Who no longer waits needs no answer.
            let _ = answer.send(Err(ended.err().unwrap_or(PeerError::NoOutput)));
        }
        Some(PeerWaiter::Stream(inbox)) => inbox.end(ended),
        None => {}
    }
}

impl PeerError {
    /// What the payload of a `call.error` says.
    pub(super) fn told(payload: &RawValue) -> PeerError {
        let failure = serde_json::from_str(payload.get()).unwrap_or_else(|_| PeerFailure {
            code: "INTERNAL".to_owned(),
            message: String::new(),
            retryable: false,
            details: None,
        });
        PeerError::Failed(Box::new(failure))
    }
}

impl PeerInner {
    fn pending(&self) -> MutexGuard<'_, Option<HashMap<u64, PeerWaiter>>> {
        // Nothing between lock and unlock panics, so poison says nothing here.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call or a stream that is not over. Dropping it before its end tells the other side.
pub(super) struct PeerRequest {
    peer: Peer,
    number: u64,
    sent: bool,
}

impl PeerRequest {
    fn id(&self) -> String {
        format!("{OWN}{}", self.number)
    }
}

impl Drop for PeerRequest {
    fn drop(&mut self) {
        let inner = &self.peer.0;
        let waited = inner.pending().as_mut().is_some_and(|pending| pending.remove(&self.number).is_some());
        if waited && self.sent {
            inner.fair_queue.put_own_after(Frame::aborted(self.peer.carriage(), &self.id()));
        }
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("session", &self.0.session).field("load", &self.load()).finish_non_exhaustive()
    }
}

/// The connections that are open. As state of the registry it lets an operation call back:
/// `peers.of(ctx.session_id()?)`. A clone is the same table.
#[derive(Clone, Debug, Default)]
pub struct Peers(Arc<Mutex<HashMap<Arc<str>, Peer>>>);

impl Peers {
    /// No connections.
    pub fn new() -> Peers {
        Peers::default()
    }

    /// The connection of this session.
    pub fn of(&self, session_id: &str) -> Option<Peer> {
        self.table().get(session_id).cloned()
    }

    /// Every connection that is open, in no order.
    pub fn all(&self) -> Vec<Peer> {
        self.table().values().cloned().collect()
    }

    /// Keeps `peer` in the table for as long as the answer lives.
    pub(super) fn join(&self, peer: &Peer) -> Joined {
        self.table().insert(Arc::clone(&peer.0.session), peer.clone());
        Joined { peers: self.clone(), peer: peer.clone() }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Arc<str>, Peer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is in the table.
pub(super) struct Joined {
    peers: Peers,
    peer: Peer,
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.peers.table().remove(&self.peer.0.session);
        self.peer.close();
    }
}
