//! Calls and streams that the other side asks for, each in a task of its own.

use std::{future::poll_fn, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt as _;
use redress_contract::{EngineCode, Envelope, Meta, OperationDeclaration, Shape};
use redress_core::{Event, Face, Refusal, Request, Secret, Subscription, contained::poll_contained};
use serde_json::json;
use tokio::time::Instant;

use crate::request::{
    body_budget::{BodyBudget, BodyReservation, BodySource},
    meta::Trace,
    service::{going_down, is_cancelled},
};

use super::{
    fair_queue::{CallQueue, QueueRefused, RequestKind},
    frame::{Frame, FrameKind},
    message::Requested,
    session::WsSession,
};

/// Up to how many bytes a message takes no room: the calls of a connection are counted.
const SMALL_MESSAGE: usize = 1024;

/// What a call was asked for with, on its own feet. The input is a part of the message that
/// it came in, and not copied.
struct OwnedRequest {
    carriage: FrameKind,
    operation: Box<str>,
    input: Bytes,
    deadline: Option<Duration>,
    token: Option<Secret>,
    idempotency_key: Option<Arc<str>>,
    last_event_id: Option<Arc<str>>,
    request_id: Option<Box<str>>,
    /// The room that the message takes among the bodies that are held.
    _taken: Option<BodyReservation<Arc<BodyBudget>>>,
}

impl OwnedRequest {
    fn of(
        carriage: FrameKind,
        message: &Bytes,
        requested: &Requested<'_>,
        taken: Option<BodyReservation<Arc<BodyBudget>>>,
    ) -> OwnedRequest {
        let input = requested.input.as_bytes();
        OwnedRequest {
            carriage,
            operation: (&*requested.operation).into(),
            input: if input.is_empty() { Bytes::new() } else { message.slice_ref(input) },
            deadline: requested.deadline,
            token: requested.auth_token.as_deref().map(Secret::new),
            idempotency_key: requested.idempotency_key.as_deref().map(Arc::from),
            last_event_id: requested.last_event_id.as_deref().map(Arc::from),
            request_id: requested.request_id.as_deref().map(Box::from),
            _taken: taken,
        }
    }

    fn request(&self, session: &WsSession) -> Request<'_> {
        let mut request = Request::new(&*self.input)
            .with_face(Face::WebSocket)
            .with_cancellation(session.over.clone())
            .with_account(session.line.account_of_many.clone())
            .with_session(Arc::clone(&session.id));
        if let Some(address) = session.address {
            request = request.with_peer(address);
        }
        let served = session.line.served.load();
        if let Some(caller) = session.caller() {
            request = request.with_caller(caller);
        } else if let Some(hint) = served.sign_in() {
            request = request.with_sign_in(hint);
        }
        // A server that takes no credentials lets them be, as it does with the header of a request.
        if let Some(token) = self.token.as_ref().or(session.token.as_ref())
            && served.registry.identity().is_some()
        {
            request = request.with_token(token.clone());
        }
        if let Some(deadline) = self.deadline {
            request = request.with_deadline(deadline);
        }
        if let Some(key) = &self.idempotency_key {
            request = request.with_idempotency_key(Arc::clone(key));
        }
        if let Some(id) = &self.request_id {
            request = request.with_request_id(id);
        }
        request
    }
}

impl WsSession {
    /// Begins a call or a stream, or refuses it.
    pub(super) async fn requested(
        self: &Arc<WsSession>,
        carriage: FrameKind,
        message: &Bytes,
        requested: Requested<'_>,
    ) {
        if self.draining.is_cancelled() {
            return self.refuse(carriage, Some(&requested.id), going_down()).await;
        }
        let sort = match self.registry().operation(&requested.operation).map(OperationDeclaration::shape) {
            Some(Shape::Subscription) => RequestKind::Stream,
            Some(Shape::Query | Shape::Mutation) | None => RequestKind::Call,
        };
        let taken = match self.take_room(message.len()) {
            Ok(taken) => taken,
            Err(refusal) => return self.refuse(carriage, Some(&requested.id), refusal).await,
        };
        match self.fair_queue.open(&requested.id, sort, &self.gone) {
            Ok(call_queue) => {
                let (parent, state) = (requested.traceparent.as_deref(), requested.tracestate.as_deref());
                let trace = Trace::of_message(parent, state, self.trace.as_ref());
                let carried =
                    Arc::clone(self).carry(call_queue, sort, OwnedRequest::of(carriage, message, &requested, taken));
                match trace {
                    None => self.tasks.spawn(carried),
                    Some(span) => self.tasks.spawn(span.instrument(carried)),
                };
            }
            Err(QueueRefused::SameId) => {
                let refusal = Refusal::new(EngineCode::InvalidRequest)
                    .with_details(&json!({"pointer": "/id", "expected": "an id that no running call has"}))
                    .with_hint("Choose another id, or wait for the end of the call that has it.");
                self.refuse(carriage, Some(&requested.id), refusal).await;
            }
            Err(QueueRefused::Full { limit }) => {
                let refusal = Refusal::new(EngineCode::Overloaded)
                    .with_details(&json!({"limit": "calls", "per": "connection", "open": limit}))
                    .with_retry_after_ms(1000);
                self.refuse(carriage, Some(&requested.id), refusal).await;
            }
        }
    }

    /// Takes room for a message whose call may run for long. There may be many of them on a connection.
    fn take_room(&self, bytes: usize) -> Result<Option<BodyReservation<Arc<BodyBudget>>>, Refusal> {
        if bytes <= SMALL_MESSAGE {
            return Ok(None);
        }
        let shared = self.line.served.load();
        let from = BodySource::of(self.address, self.line.side.address.is_some());
        let mut taken =
            BodyReservation::new(Arc::clone(&shared.server_state.room), from, shared.most_of_bodies(), true);
        match taken.waits(bytes) {
            Ok(()) => Ok(Some(taken)),
            Err(full) => Err(shared.unread(full.into(), self.limits.message_bytes)),
        }
    }

    /// Runs a call or a stream to its end, or until nobody wants it any more. Whatever panics on the way, there is a last
    /// message.
    async fn carry(self: Arc<WsSession>, call_queue: CallQueue, sort: RequestKind, asked: OwnedRequest) {
        let (carriage, own_id) = (asked.carriage, asked.request_id.clone());
        let last = {
            let mut running = pin!(async {
                match sort {
                    RequestKind::Call => self.call(&call_queue, asked).await,
                    RequestKind::Stream => self.stream(&call_queue, asked).await,
                }
            });
            tokio::select! {
                biased;
                () = call_queue.abort.cancelled() => return,
                last = poll_fn(|cx| poll_contained(running.as_mut(), cx)) => last,
            }
        };
        let last = last.unwrap_or_else(|payload| {
            let mut bare = Request::default().with_face(Face::WebSocket).with_session(Arc::clone(&self.id));
            if let Some(id) = &own_id {
                bare = bare.with_request_id(id);
            }
            Frame::failed(carriage, Some(&call_queue.id), self.registry().lost(&*payload, bare))
        });
        call_queue.end(last);
    }

    async fn call(&self, call_queue: &CallQueue, asked: OwnedRequest) -> Frame {
        let carriage = asked.carriage;
        let shared = self.line.served.load_full();
        let mut envelope = shared.registry.call(&asked.operation, asked.request(self)).await;
        let held = envelope.take_reservation();
        match envelope.output() {
            Some(output) => Frame::responded(carriage, &call_queue.id, None, output).holding(held),
            None => Frame::failed(carriage, Some(&call_queue.id), envelope),
        }
    }

    /// The last message of a stream, once that has ended.
    async fn stream(&self, call_queue: &CallQueue, asked: OwnedRequest) -> Frame {
        let carriage = asked.carriage;
        let since = Instant::now();
        let mut request = asked.request(self);
        let mut seen: u64 = 0;
        let shared = self.line.served.load_full();
        let registry = &shared.registry;
        let streaming = registry.operation(&asked.operation).and_then(OperationDeclaration::streaming);
        if let (true, Some(id)) = (streaming.is_some_and(|streaming| streaming.resumable), &asked.last_event_id) {
            // Items are numbered from one, so the number that was seen is how many there were.
            seen = id.parse().unwrap_or(0);
            request = request.with_last_event_id(Arc::clone(id));
        }
        let mut subscription = match registry.subscribe(&asked.operation, request).await {
            Ok(subscription) => subscription,
            Err(envelope) => return Frame::failed(carriage, Some(&call_queue.id), envelope),
        };
        drop(asked);
        let mut stopped = false;
        let last = loop {
            // First the room, then the item: what cannot be written is not asked for either.
            let room = call_queue.room().await;
            let event = tokio::select! {
                biased;
                () = self.draining.cancelled(), if !stopped => {
                    stopped = true;
                    subscription.stop();
                    subscription.next().await
                }
                event = subscription.next() => event,
            };
            match event {
                Some(Event::Item(mut output)) => {
                    seen = seen.saturating_add(1);
                    let held = output.take_reservation();
                    let frame = Frame::responded(carriage, &call_queue.id, Some(seen), output.json()).holding(held);
                    drop(output);
                    call_queue.put(room, frame).await;
                }
                Some(Event::Completed(meta)) => break Frame::completed(carriage, &call_queue.id, &meta),
                Some(Event::Failed(envelope)) if stopped && is_cancelled(&envelope) => {
                    break Frame::failed(carriage, Some(&call_queue.id), self.cut_off(&subscription, since));
                }
                Some(Event::Failed(envelope)) => break Frame::failed(carriage, Some(&call_queue.id), envelope),
                // A stream has one end, and it was told.
                None => break Frame::aborted(carriage, &call_queue.id),
            }
        };
        // The source goes first, so that nothing of it runs once the reader sees the end.
        drop(subscription);
        last
    }

    /// The end of a stream that outlives its service. The call itself ended as cancelled; its
    /// reader is told that it may come again.
    fn cut_off(&self, subscription: &Subscription, since: Instant) -> Envelope {
        let meta = Meta {
            elapsed_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
            session_id: Some(Arc::clone(&self.id)),
            ..Meta::new(subscription.request_id().clone())
        };
        Envelope::failure(going_down().into_problem(), None, meta)
    }
}
