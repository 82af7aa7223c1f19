//! Subscriptions: the same path up to the handler, then a stream with a bounded buffer, real
//! backpressure and one explicit end.
//!
//! Why so: docs/decisions/0053-a-stream-has-its-own-time.md.

use std::{
    future::Future as _,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use futures_util::{FutureExt as _, StreamExt as _};
use redress_contract::{Effect, EngineCode, Envelope, Meta, OutputJson, Overflow, RequestId, Shape, Streaming};
use serde_json::json;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Call, CallInput, CallStop, FailedCall,
    admit::{Admitted, Permits, waited},
    contained,
    prepare::StreamInvocation,
};
use crate::{
    Refusal, Registry, Request,
    author::handler::{BoundHandler, HandlerItems},
    contained::{contain, let_go},
    registry::RegisteredOperation,
};

/// What the reader of a stream gets: items, then one end.
#[derive(Debug)]
pub enum Event {
    /// One item.
    Item(OutputJson),
    /// The stream has ended well. Nothing comes after it.
    Completed(Meta),
    /// The stream has ended badly. Nothing comes after it.
    Failed(Envelope),
}

/// A running stream. Dropping it cancels the source.
#[derive(Debug)]
pub struct Subscription {
    request_id: RequestId,
    items: mpsc::Receiver<OutputJson>,
    end: Option<oneshot::Receiver<Event>>,
    source: CancellationToken,
    _reader: DropGuard,
}

impl Registry {
    /// Subscribes to an operation. What refuses the call before the stream is open comes as
    /// an envelope; what happens later comes as the last event.
    pub async fn subscribe(&self, name: &str, request: Request<'_>) -> Result<Subscription, Envelope> {
        let (mut call, call_input) = self.begin(name, request);
        let span = call.span.clone();
        let opened = {
            let opening = pin!(call.open(&call_input));
            contained(span, opening).await
        };
        match opened.unwrap_or_else(|payload| Err(call.map_panic(&*payload).into())) {
            Ok(opened) => Ok(opened.carry(call)),
            Err(stop) => Err(call.end_recorded(Err(stop)).await),
        }
    }
}

/// A stream whose source is open, not yet carried to a reader.
struct OpenStream {
    entry: Arc<RegisteredOperation>,
    items: HandlerItems,
    permits: Permits,
    streaming: Streaming,
    runtime: Handle,
}

impl Call {
    async fn open(&mut self, call_input: &CallInput<'_>) -> Result<OpenStream, CallStop> {
        let Admitted { mut permits } = self.admit(call_input, Shape::Subscription).await?;
        self.note_any_input(call_input).await?;
        let entry = Arc::clone(self.entry()?);
        let (BoundHandler::Stream(handler), Ok(runtime)) = (&entry.bound, Handle::try_current()) else {
            return Err(self.refuse(EngineCode::HandlerNotBound).into());
        };
        let ready = self.prepare(&entry, &StreamInvocation { handler, ctx: &self.ctx }, call_input).await?;
        // A subscription takes no key, so there is nothing to claim.
        let counted = self.counted(permits.quota.take()).await?;
        let waited = waited(&entry, call_input, counted.is_some());
        let items = self.handle(&entry, ready, counted, &mut permits, waited).await?;
        self.opened();
        let streaming = entry.declaration.streaming().copied().unwrap_or_default();
        Ok(OpenStream { entry, items, permits, streaming, runtime })
    }
}

impl OpenStream {
    /// Carries the items to a reader, in a task that ends with the stream or its reader.
    fn carry(self, call: Call) -> Subscription {
        let (sender, items) = mpsc::channel(self.streaming.buffer.max(1));
        let (last, end) = oneshot::channel();
        let request_id = call.ctx.request_id.clone();
        let source = call.ctx.cancellation().clone();
        let reader = source.clone().drop_guard();
        let runtime = self.runtime.clone();
        // The source runs inside the span of its call, like any other handler.
        let span = call.span.clone();
        runtime.spawn(span.instrument(self.pump(call, sender, last)));
        Subscription { request_id, items, end: Some(end), source, _reader: reader }
    }

    async fn pump(mut self, mut call: Call, sender: mpsc::Sender<OutputJson>, last: oneshot::Sender<Event>) {
        let mut characters: u64 = 0;
        let ended = loop {
            match self.next(&call).await {
                Ok(None) => break Ok(()),
                Err(bad) => break Err(bad),
                Ok(Some(output)) => {
                    characters = characters.saturating_add(output.characters());
                    if let Err(bad) = hand_over(&call, self.streaming, &sender, output).await {
                        break Err(bad);
                    }
                }
            }
        };
        // The source goes first, so that nothing of it runs once the reader sees the end.
        let OpenStream { items, permits, .. } = self;
        let_go(items);
        drop(permits);
        let event = match ended {
            Ok(()) => Event::Completed(call.end_stream(characters)),
            Err(bad) => Event::Failed(call.end_outside(Err(bad.into()))),
        };
        if let Some(receipt) = call.receipt() {
            receipt.await;
        }
        // A reader that has gone needs no end.
        let _ = last.send(event);
    }

    /// The next item of the source; nothing at its own end.
    async fn next(&mut self, call: &Call) -> Result<Option<OutputJson>, Box<FailedCall>> {
        let idle = self.streaming.idle_ms.map(Duration::from_millis);
        let token = call.ctx.cancellation();
        let next = AssertUnwindSafe(self.items.next()).catch_unwind();
        let item = tokio::select! {
            biased;
            () = token.cancelled() => return Err(call.refuse(EngineCode::Cancelled)),
            item = next => item,
            () = silence(idle) => {
                return Err(call.refuse_with(EngineCode::Timeout, &json!({"idle_ms": self.streaming.idle_ms})));
            }
            () = call.at_deadline() => return Err(call.too_late()),
        };
        match item {
            Err(payload) => Err(call.map_panic(&*payload)),
            Ok(None) => Ok(None),
            Ok(Some(Ok(output))) if call.is_large_output(&self.entry, &output) => {
                call.check_large_output(&self.entry, output).await.map(Some)
            }
            Ok(Some(Ok(output))) => call.check_output(&self.entry, output).map(Some),
            Ok(Some(Err(ending))) => Err(call.map_ending(&self.entry, *ending)),
        }
    }
}

/// Puts an item where the reader finds it. A full buffer holds the source back; a reader
/// that does not read at all is cut off, explicitly.
async fn hand_over(
    call: &Call,
    streaming: Streaming,
    sender: &mpsc::Sender<OutputJson>,
    output: OutputJson,
) -> Result<(), Box<FailedCall>> {
    let output = match sender.try_send(output) {
        Ok(()) => return Ok(()),
        Err(mpsc::error::TrySendError::Closed(_)) => return Err(call.refuse(EngineCode::Cancelled)),
        Err(mpsc::error::TrySendError::Full(output)) => output,
    };
    let overflow = || call.refuse_with(EngineCode::StreamOverflow, &json!({"buffer": streaming.buffer}));
    let patience = match streaming.overflow {
        Overflow::Cut => return Err(overflow()),
        Overflow::Wait(ms) => Duration::from_millis(ms),
    };
    tokio::select! {
        biased;
        () = call.ctx.cancellation().cancelled() => Err(call.refuse(EngineCode::Cancelled)),
        sent = sender.send(output) => sent.map_err(|_| call.refuse(EngineCode::Cancelled)),
        () = tokio::time::sleep(patience) => Err(overflow()),
        () = call.at_deadline() => Err(call.too_late()),
    }
}

async fn silence(idle: Option<Duration>) {
    match idle {
        Some(idle) => tokio::time::sleep(idle).await,
        None => std::future::pending().await,
    }
}

impl Subscription {
    /// The name of the call, the same as in the log.
    pub fn request_id(&self) -> &RequestId {
        &self.request_id
    }

    /// The end of a stream whose task is gone without one: something in it has panicked, or its runtime shuts down.
    fn lost(&self) -> Event {
        contain(|| tracing::error!(request_id = %self.request_id, "a stream was lost before its end"));
        let mut problem = Refusal::new(EngineCode::Internal).into_problem();
        problem.effect = Effect::Unknown;
        Event::Failed(Envelope::failure(problem, None, Meta::new(self.request_id.clone())))
    }

    /// Calls the source off. What it has given still comes, and then the end that the call had: CANCELLED, unless it
    /// had ended by itself before. So whoever has to stop a stream can tell its reader what the records say of it.
    pub fn stop(&self) {
        self.source.cancel();
    }
}

impl Stream for Subscription {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match self.items.poll_recv(cx) {
            Poll::Ready(Some(output)) => return Poll::Ready(Some(Event::Item(output))),
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => {}
        }
        let Some(end) = &mut self.end else { return Poll::Ready(None) };
        match Pin::new(end).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(event) => {
                self.end = None;
                Poll::Ready(Some(event.unwrap_or_else(|_| self.lost())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_whose_task_is_gone_ends_with_an_error_and_once() {
        let (sender, items) = mpsc::channel(1);
        let (last, end) = oneshot::channel();
        let source = CancellationToken::new();
        let reader = source.clone().drop_guard();
        let request_id = RequestId::given("a-1").unwrap();
        let mut subscription = Subscription { request_id, items, end: Some(end), source, _reader: reader };
        drop((sender, last));
        let Some(Event::Failed(envelope)) = subscription.next().await else { panic!("it has an end") };
        assert_eq!((envelope.code(), envelope.meta().request_id.to_string()), (Some("INTERNAL"), "a-1".to_owned()));
        assert!(subscription.next().await.is_none());
    }
}
