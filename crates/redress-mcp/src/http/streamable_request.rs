//! A request that runs, and the stream that it may become: for what it tells and asks meanwhile.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use ::http::{Response, request::Parts};
use bytes::Bytes;
use futures_util::Stream;
use redress_core::offload::{LARGE, offload_future};
use redress_wire::{
    jsonrpc::{self, Id, Member, RpcCall, RpcMessage},
    mcp::Era,
};
use tokio::sync::oneshot;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    Body, HttpFace,
    admission::Accepts,
    events::{EventLog, EventLogReader},
    session::{HttpSession, StreamAsker},
    sse::{self, SseEvent},
    stream_permits::HeldPermits,
};
use crate::{
    RequestContext,
    client_channel::{ClientChannel, Notifier, NotifyingReply, RequestEvent},
    mcp::McpInner,
    refusal::Unfit,
    reply::Reply,
    request::McpRequest,
    session,
};

/// After how long a request that has nothing to tell becomes a stream all the same, so that nobody on the way takes it
/// for dead.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many notifications of one request wait for their reader.
const MAX_WAITING: usize = 64;

/// A request whose answer may become a stream.
pub(super) struct StreamableRequest {
    pub(super) message: Bytes,
    pub(super) era: Era,
    pub(super) context: RequestContext,
    pub(super) open: HeldPermits,
    /// The session that it belongs to, and what tells that its client has called it off.
    pub(super) within: Option<(Arc<HttpSession>, CancellationToken)>,
}

impl HttpFace {
    /// Runs a request, and answers with JSON where it ends before anything else is to be said, and with a stream where
    /// it does not. One that belongs to no session is called off when its client leaves; one of a session is not, since
    /// its client may come back.
    pub(super) async fn run(&self, parts: &Parts, running: StreamableRequest) -> Response<Body> {
        let StreamableRequest { message, era, context, open, within } = running;
        let accepts = Accepts::of(&parts.headers);
        let (session, cancelled) = within.unzip();
        let resumable = session.as_ref().is_some_and(|session| session.resumable);
        let log = Arc::new(EventLog::new(MAX_WAITING, resumable));
        let over = session.as_ref().map_or(&self.options.shutdown, |session| &session.over).clone();
        let trace = context.trace.clone().unwrap_or_default();
        let (alone, mut answered) = oneshot::channel();
        let large = message.len() > LARGE;
        // An answer of JSON is given even to what was called off, and says what it answers.
        let json = (accepts == Accepts::Json).then(|| (message.clone(), context.clone()));
        let call = CallTask {
            inner: Arc::clone(&self.inner),
            message,
            era,
            context,
            session: session.clone(),
            cancelled: cancelled.unwrap_or_default(),
            over: over.clone(),
            log: Arc::clone(&log),
            streams: accepts != Accepts::Json,
            alone,
            _open: open.clone(),
        };
        let call = async move { if large { offload_future(call.run()).await } else { call.run().await } };
        let task = tokio::spawn(trace.instrument(call));
        // Dropping the call cancels it.
        let task = session.is_none().then(|| AbortOnDropHandle::new(task));
        let alone = tokio::select! {
            biased;
            reply = &mut answered => Some(reply),
            () = poll_fn(|cx| log.poll_told(cx)), if accepts != Accepts::Json => None,
            () = tokio::time::sleep(PATIENCE), if accepts == Accepts::EventStream => None,
        };
        let alone = match alone {
            Some(reply) => reply.ok(),
            None if log.begin() => None,
            // It has ended in this very moment.
            None => answered.await.ok(),
        };
        match (alone, json) {
            (Some(reply), _) => self.respond(parts, reply, era),
            // What was called off has no answer, and only an event stream can say nothing.
            (None, Some((message, context))) => {
                let id = match jsonrpc::read(&message, 1) {
                    Ok(RpcMessage::Single(Member::Call(call))) => call.id.unwrap_or(Id::NULL),
                    Ok(_) | Err(_) => Id::NULL,
                };
                self.refuse(parts, &Unfit::CalledOff, id, &context, era)
            }
            (None, None) => {
                let number = session.filter(|_| resumable).map(|session| session.opened(&log));
                open.keep(sse::response(ReaderEvents::new(log, None, number, task), over))
            }
        }
    }
}

/// The call of a request, as a task of its own: whoever reads its answer slowly does not slow it down.
struct CallTask {
    inner: Arc<McpInner>,
    message: Bytes,
    era: Era,
    context: RequestContext,
    session: Option<Arc<HttpSession>>,
    cancelled: CancellationToken,
    over: CancellationToken,
    log: Arc<EventLog>,
    /// Whether the client takes an event stream, on which it can be told and asked.
    streams: bool,
    /// Where the answer goes if nothing was told before it.
    alone: oneshot::Sender<Reply>,
    _open: HeldPermits,
}

impl CallTask {
    async fn run(self) {
        let message = self.message.clone();
        let Ok(RpcMessage::Single(Member::Call(call))) = jsonrpc::read(&message, 1) else { return };
        let Some(id) = call.id else { return };
        let ended = EndNotice { session: self.session.clone(), log: Arc::clone(&self.log), id: id.as_json().into() };
        let reply = tokio::select! {
            biased;
            // Who calls a request off does not want an answer; dropping the call cancels it.
            () = self.cancelled.cancelled() => None,
            () = self.over.cancelled() => None,
            reply = self.answer(id, &call) => Some(reply),
        };
        if let Some(session) = &self.session {
            session.touch();
            // The id is free before the answer is out, so that it can be used at once.
            session.requests.ended(id.as_json());
        }
        if let Some(reply) = reply.and_then(|reply| self.log.answer(reply)) {
            // Whoever has lost its connection by now never knew of a stream that it could come back to.
            let _ = self.alone.send(reply);
        }
        drop(ended);
    }

    async fn answer(&self, id: Id<'_>, call: &RpcCall<'_>) -> Reply {
        let Some(asked) = McpRequest::read(&call.method, call.params) else {
            return self.inner.refuse(&Unfit::params_of(&call.method), id, &self.context);
        };
        let (inner, meta) = (&self.inner, asked.meta());
        let token = meta.and_then(|meta| meta.progress_token);
        let session = self.session.as_deref().map(|session| &session.state);
        let notes = match (self.era, session) {
            (Era::Modern, _) => meta.and_then(|meta| session::level(meta.log_level.as_deref()?)),
            (Era::Legacy, session) => session.map(session::Session::level),
        };
        let asker = self.session.as_ref().filter(|_| self.streams).and_then(|own| StreamAsker::of(own, &self.log));
        let channel = ClientChannel { asker: asker.as_ref(), session, ..ClientChannel::default() };
        match Notifier::wanted(token.is_some(), notes).filter(|_| self.streams) {
            Some((notifier, told)) => {
                let answer = inner.answer(
                    id,
                    &asked,
                    self.era,
                    &self.context,
                    ClientChannel { notifier: Some(&notifier), ..channel },
                );
                let mut telling = NotifyingReply::new(answer, told);
                loop {
                    match telling.next().await {
                        RequestEvent::Told(told) => self.log.notify(told.message(token)),
                        RequestEvent::Ended(reply) => return reply,
                    }
                }
            }
            None => inner.answer(id, &asked, self.era, &self.context, channel).await,
        }
    }
}

/// Says that a request has ended, however it did.
struct EndNotice {
    session: Option<Arc<HttpSession>>,
    log: Arc<EventLog>,
    id: Box<str>,
}

impl Drop for EndNotice {
    fn drop(&mut self) {
        self.log.close();
        if let Some(session) = &self.session {
            session.requests.ended(&self.id);
            session.ended(&self.log);
        }
    }
}

/// The events of a log, as one reader is given them.
pub(super) struct ReaderEvents {
    log: Arc<EventLog>,
    reader: EventLogReader,
    /// The number of the stream in its session, where its events have ids.
    number: Option<u64>,
    primed: bool,
    _task: Option<AbortOnDropHandle<()>>,
}

impl ReaderEvents {
    /// Those behind `after`, or that nobody was given yet.
    pub(super) fn new(
        log: Arc<EventLog>,
        after: Option<u64>,
        number: Option<u64>,
        task: Option<AbortOnDropHandle<()>>,
    ) -> ReaderEvents {
        let reader = log.read(after);
        ReaderEvents { log, reader, number, primed: number.is_none(), _task: task }
    }

    fn id(&self, event: u64) -> Option<String> {
        self.number.map(|number| format!("{number}/{event}"))
    }
}

impl Stream for ReaderEvents {
    type Item = SseEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SseEvent>> {
        if !std::mem::replace(&mut self.primed, true)
            && let Some(id) = self.id(self.reader.has)
        {
            return Poll::Ready(Some(SseEvent::priming(id)));
        }
        let next = ready!(self.log.poll_next(self.reader, cx));
        Poll::Ready(next.map(|(event, message)| SseEvent::new(self.id(event), message)))
    }
}
