//! One connection, from its upgrade to its close.

use std::{future::Future, net::IpAddr, ops::ControlFlow, pin::pin, sync::Arc, time::Duration};

use axum::extract::ws::{CloseFrame, Message as Incoming, WebSocket};
use bytes::Bytes;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use parking_lot::Mutex;
use redress_contract::{Caller, EngineCode};
use redress_core::{
    Refusal, Registry, Request, Secret,
    offload::{CoopBudget, LARGE, offload_future},
};
use redress_wire::http::header::{A_DEADLINE, A_KEY, correction};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    connection::conn::ConnContext,
    request::meta::{Handshake, Trace},
};

use super::{
    WebSocketLimits,
    fair_queue::{Close, FairQueue},
    frame::{Frame, FrameKind},
    message::{self, Malformed, MessageFault, WsMessage},
    partial_message::ReadPosition,
    peer::{Peer, PeerError},
};

/// How long the two sides may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);
/// How often a connection is looked at whose other side does not read, at most and at least.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
/// How many messages are written before whatever else waits gets its turn.
const IN_ONE_GO: usize = 64;

/// One connection.
pub(super) struct WsSession {
    pub(super) line: Arc<ConnContext>,
    pub(super) limits: WebSocketLimits,
    pub(super) handshake: Option<Handshake>,
    pub(super) token: Option<Secret>,
    pub(super) address: Option<IpAddr>,
    /// The trace of the calls that bring none of their own.
    pub(super) trace: Option<Trace>,
    pub(super) id: Arc<str>,
    pub(super) fair_queue: Arc<FairQueue>,
    pub(super) peer: Peer,
    /// No new calls are taken, and streams end.
    pub(super) draining: CancellationToken,
    /// Calls that still run are cancelled.
    pub(super) over: CancellationToken,
    /// The connection is gone, and with it whoever wanted its calls.
    pub(super) gone: CancellationToken,
    pub(super) seen: Mutex<Instant>,
    pub(super) given: ReadPosition,
    /// What is waited for when the service goes down.
    pub(super) tasks: TaskTracker,
}

/// How a connection comes to its end.
#[derive(Debug)]
enum SessionEnd {
    /// The other side has closed it, or it broke.
    Gone,
    /// It has to be closed from here.
    Close(Close),
}

impl WsSession {
    /// What is called here. Each call asks anew, since the faces may have been replaced.
    pub(super) fn registry(&self) -> Registry {
        self.line.served.load().registry.clone()
    }

    /// Who calls where no token says so. Each call asks anew: a certificate may have ended, and a rule be gone.
    pub(super) fn caller(&self) -> Option<Arc<Caller>> {
        self.handshake.as_ref()?.caller(&self.line.served.load(), &self.line.side)
    }

    /// Reads, writes and answers until the connection ends; then nothing of it runs any more.
    pub(super) async fn run(self: Arc<WsSession>, socket: WebSocket) {
        let _gone = self.gone.clone().drop_guard();
        let (sink, mut stream) = socket.split();
        self.given.begin(self.line.activity.as_ref());
        {
            let mut writer = pin!(self.write(sink));
            let ended = {
                let reader = pin!(self.read(&mut stream));
                tokio::select! {
                    ended = reader => ended,
                    () = &mut writer => SessionEnd::Gone,
                    close = self.unfinished() => SessionEnd::Close(close),
                    () = self.silence() => SessionEnd::Close((1011, "nothing came for too long")),
                    () = self.end_of_service() => SessionEnd::Close((1001, "the server goes down")),
                }
            };
            tracing::debug!(session_id = %self.id, ?ended, "a connection ends");
            self.gone.cancel();
            self.fair_queue.abort_all();
            self.peer.close();
            if let SessionEnd::Close(close) = ended {
                self.fair_queue.close(close);
                if timeout(GOODBYE, writer).await.is_err() {
                    return;
                }
            }
        }
        // The other side answers the close; to hang up before would lose what it has not read.
        let _ = timeout(GOODBYE, async { while stream.next().await.is_some_and(|read| read.is_ok()) {} }).await;
    }

    async fn write<S: Sink<Incoming> + Unpin>(&self, mut sink: S) {
        let mut written = 0;
        loop {
            if let Some(frame) = self.fair_queue.next() {
                let (message, held) = frame.into_message();
                if !matches!(self.patiently(sink.feed(message)).await, Some(Ok(()))) {
                    return;
                }
                // What is charged is so until it is written, and not only until the socket has its own copy.
                if held.is_some() && !matches!(self.patiently(sink.flush()).await, Some(Ok(()))) {
                    return;
                }
                drop(held);
                written += 1;
                if written % IN_ONE_GO == 0 {
                    tokio::task::yield_now().await;
                }
                continue;
            }
            if !matches!(self.patiently(sink.flush()).await, Some(Ok(()))) {
                return;
            }
            if let Some((code, reason)) = self.fair_queue.closing() {
                let close = Incoming::Close(Some(CloseFrame { code, reason: reason.into() }));
                let _ = self.patiently(sink.send(close)).await;
                return;
            }
            self.fair_queue.woken().await;
        }
    }

    /// Waits for `writing` for as long as the other side reads.
    async fn patiently<T>(&self, writing: impl Future<Output = T>) -> Option<T> {
        let Some(activity) = &self.line.activity else { return timeout(self.limits.idle, writing).await.ok() };
        let stuck = async {
            loop {
                let patience = self.line.served.load().limits.write_time;
                sleep((patience / 8).clamp(LOOK.0, LOOK.1)).await;
                if activity.stuck_for() >= patience {
                    self.line.served.load().server_state.counters.slow_readers.up();
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            written = writing => Some(written),
            () = stuck => None,
        }
    }

    async fn next<S: Stream + Unpin>(&self, stream: &mut S) -> Option<S::Item> {
        self.given.waits();
        stream.next().await
    }

    async fn read<S>(self: &Arc<WsSession>, stream: &mut S) -> SessionEnd
    where
        S: Stream<Item = Result<Incoming, axum::Error>> + Unpin,
    {
        let mut malformed = 0;
        // Hundreds of messages may come in one write.
        let mut turn = CoopBudget::begin();
        while let Some(read) = self.next(stream).await {
            turn.over().await;
            let (carriage, bytes) = match read {
                Ok(Incoming::Text(text)) => (FrameKind::Text, Bytes::from(text)),
                Ok(Incoming::Binary(bytes)) => (FrameKind::Binary, bytes),
                Ok(Incoming::Ping(carried) | Incoming::Pong(carried)) => {
                    self.given.control(carried.len());
                    self.touch();
                    continue;
                }
                Ok(Incoming::Close(_)) => {
                    // Reading on lets the close be answered.
                    self.gone.cancel();
                    self.fair_queue.abort_all();
                    continue;
                }
                // The library that read it is a part of axum's that axum does not show, so its
                // words are all there is to tell them apart.
                Err(error) if error.to_string().starts_with("UTF-8") => {
                    return SessionEnd::Close((1007, "a text that is no UTF-8"));
                }
                Err(error) if error.to_string().contains("too long") => {
                    return SessionEnd::Close((1009, "the message is too large"));
                }
                Err(_) => return SessionEnd::Close((1002, "not a message of this protocol")),
            };
            self.given.message(self.line.activity.as_ref());
            self.touch();
            self.peer.writes(carriage);
            let taken = if bytes.len() > LARGE {
                let session = Arc::clone(self);
                Box::pin(offload_future(async move { session.take(carriage, &bytes).await })).await
            } else {
                self.take(carriage, &bytes).await
            };
            if taken.is_break() {
                malformed += 1;
            }
            if malformed >= self.limits.malformed.max(1) {
                return SessionEnd::Close((1008, "too many messages that are no requests"));
            }
        }
        SessionEnd::Gone
    }

    /// Acts on one message; breaks on one that says nothing.
    async fn take(self: &Arc<WsSession>, carriage: FrameKind, bytes: &Bytes) -> ControlFlow<()> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let fault = MessageFault { pointer: "", expected: "UTF-8" };
            return self.malformed(carriage, Malformed { code: EngineCode::ParseError, id: None, fault }).await;
        };
        if text.len() > self.limits.message_bytes {
            let details = json!({"limit_bytes": self.limits.message_bytes, "size_bytes": text.len()});
            let refusal = Refusal::new(EngineCode::PayloadTooLarge).with_details(&details);
            self.refuse(carriage, message::id_of(text).as_deref(), refusal).await;
            return ControlFlow::Break(());
        }
        match message::read(text, self.limits.depth) {
            Err(malformed) => return self.malformed(carriage, malformed).await,
            Ok(WsMessage::Requested(requested)) => self.requested(carriage, bytes, requested).await,
            Ok(WsMessage::Responded { id, output }) => self.peer.give(&id, output),
            Ok(WsMessage::Completed { id }) => self.peer.end(&id, Ok(())),
            Ok(WsMessage::Failed { id, payload }) => self.peer.end(&id, Err(PeerError::told(payload))),
            Ok(WsMessage::Aborted { id }) if id.starts_with(message::OWN) => {
                self.peer.end(&id, Err(PeerError::Aborted));
            }
            Ok(WsMessage::Aborted { id }) => {
                let room = self.fair_queue.front_room().await;
                self.fair_queue.abort(&id, room, Frame::aborted(carriage, &id));
            }
        }
        ControlFlow::Continue(())
    }

    async fn malformed(&self, carriage: FrameKind, malformed: Malformed<'_>) -> ControlFlow<()> {
        let Malformed { code, id, fault: MessageFault { pointer, expected } } = malformed;
        let place = format!("at `{}` of the message", if pointer.is_empty() { "/" } else { pointer });
        let hint = match expected {
            A_KEY | A_DEADLINE => correction(expected, &place),
            _ => format!("Send {expected} {place}."),
        };
        let refusal = Refusal::new(code).expecting(pointer, expected).with_hint(hint);
        self.refuse(carriage, id.as_deref(), refusal).await;
        ControlFlow::Break(())
    }

    /// Answers what does not become a call.
    pub(super) async fn refuse(&self, carriage: FrameKind, id: Option<&str>, refusal: Refusal) {
        let room = self.fair_queue.front_room().await;
        let envelope = self.registry().refuse(refusal, Request::default().with_session(Arc::clone(&self.id)));
        self.fair_queue.put_in_front(room, Frame::failed(carriage, id, envelope));
    }

    fn touch(&self) {
        *self.seen.lock() = Instant::now();
    }

    /// Pings, and resolves when nothing came from the other side for too long.
    async fn silence(&self) {
        loop {
            sleep(self.limits.ping).await;
            let seen = *self.seen.lock();
            if seen.elapsed() >= self.limits.idle {
                return;
            }
            self.fair_queue.ping();
        }
    }

    /// Resolves when the service goes down and nothing of this connection runs any more, or
    /// what still ran was cancelled and had the time to say so.
    async fn end_of_service(&self) {
        self.draining.cancelled().await;
        tokio::select! {
            () = self.fair_queue.emptied() => {}
            () = self.over.cancelled() => {
                let _ = timeout(GOODBYE / 4, self.fair_queue.emptied()).await;
            }
        }
    }
}
