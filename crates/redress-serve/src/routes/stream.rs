//! A subscription as server-sent events.

use std::{convert::Infallible, sync::Arc};

use axum::response::{
    IntoResponse as _, Response,
    sse::{Event as SseEvent, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt as _, stream};
use redress_contract::{Caller, Envelope, Meta, Reservation};
use redress_core::{Event, Refusal, Subscription};
use tokio::time::Instant;

use crate::{
    connection::server_state::{Holder, OpenPermit},
    request::{
        response,
        service::{Exchange, FacesInner, going_down, is_cancelled},
    },
};

/// Subscribes, and answers with the stream; what refuses the call before the stream is open
/// comes back.
pub(crate) async fn open(exchange: &Exchange, name: &str, input: &[u8]) -> Result<Response, Box<Envelope>> {
    let shared = &exchange.shared;
    let caller = match exchange.caller().await {
        Ok(caller) => caller,
        Err(refusal) => return Err(Box::new(exchange.refused(refusal))),
    };
    let operation = shared.registry.operation(name);
    // Who may not subscribe takes no place; the call says why.
    let admitted = operation.is_some_and(|operation| operation.access().admit(caller.as_deref()).is_ok());
    let held = match admitted.then(|| exchange.hold_stream(caller.as_deref())).transpose() {
        Ok(held) => held,
        Err(refusal) => return Err(Box::new(exchange.refused(refusal))),
    };
    let mut request = exchange.meta.request_of(shared, input, caller);
    let mut seen = 0;
    let streaming = operation.and_then(|operation| operation.streaming());
    if let (true, Some(id)) = (streaming.is_some_and(|streaming| streaming.resumable), &exchange.meta.last_event_id) {
        // Events are numbered from one, so the number that was seen is how many there were.
        seen = id.parse().unwrap_or(0);
        request = request.with_last_event_id(Arc::clone(id));
    }
    let subscription = shared.registry.subscribe(name, request).await.map_err(Box::new)?;
    let id = response::request_id(subscription.request_id());
    let carried = Carried {
        subscription,
        shared: Arc::clone(shared),
        seen,
        since: Instant::now(),
        stopped: false,
        ended: false,
        written: None,
        _held: held,
    };
    let keep_alive = KeepAlive::new().interval(shared.keep_alive);
    Ok(response::with_id(Sse::new(carried.events()).keep_alive(keep_alive).into_response(), id))
}

/// A stream on its way to its reader.
struct Carried {
    subscription: Subscription,
    shared: Arc<FacesInner>,
    seen: u64,
    since: Instant,
    /// Whether the source was called off, as the service goes down.
    stopped: bool,
    ended: bool,
    /// What the last item holds of the budget for answers, until its reader asks for more.
    written: Option<Reservation>,
    _held: Option<OpenPermit>,
}

impl Exchange {
    /// One more stream for the caller.
    fn hold_stream(&self, caller: Option<&Caller>) -> Result<OpenPermit, Refusal> {
        let holder = Holder::of(caller, self.meta.peer.map(|peer| peer.ip()));
        self.shared.server_state.take_stream(holder, self.shared.limits.streams)
    }
}

impl Carried {
    fn events(self) -> impl Stream<Item = Result<SseEvent, Infallible>> {
        stream::unfold(self, |mut carried| async move {
            let event = carried.next().await?;
            Some((Ok(event), carried))
        })
        // What compresses a body asks it once more behind its end.
        .fuse()
    }

    async fn next(&mut self) -> Option<SseEvent> {
        self.written = None;
        if self.ended {
            return None;
        }
        let event = tokio::select! {
            // A stream that never pauses has to hear of the shutdown too.
            biased;
            () = self.shared.server_state.shutdown.draining(), if !self.stopped => {
                self.stopped = true;
                self.subscription.stop();
                self.subscription.next().await?
            }
            event = self.subscription.next() => event?,
        };
        Some(match event {
            Event::Item(mut output) => {
                self.written = output.take_reservation();
                // Where the counting goes on from is the reader's word.
                self.seen = self.seen.saturating_add(1);
                SseEvent::default().id(self.seen.to_string()).data(String::from_utf8_lossy(output.json()))
            }
            Event::Completed(meta) => {
                self.ended = true;
                let end = serde_json::json!({"ok": true, "_meta": meta});
                SseEvent::default().event("end").data(end.to_string())
            }
            Event::Failed(envelope) => {
                self.ended = true;
                let envelope = if self.stopped && is_cancelled(&envelope) { self.cut_off() } else { envelope };
                SseEvent::default().event("error").data(String::from_utf8_lossy(&envelope.into_bytes()))
            }
        })
    }

    /// The end of a stream that outlives its service. The call itself ended as cancelled; its
    /// reader is told that it may come again.
    fn cut_off(&self) -> Envelope {
        let elapsed_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let request_id = self.subscription.request_id().clone();
        let meta = Meta { elapsed_ms, ..Meta::new(request_id) };
        Envelope::failure(going_down().into_problem(), None, meta)
    }
}
