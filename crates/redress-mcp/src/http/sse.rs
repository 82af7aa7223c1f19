//! Event streams (`text/event-stream`): a message is the data of an event.
//!
//! The bytes of a message are a frame of their own and go out as they are, unless they are few. They hold no line break,
//! since no message here is written with one.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use ::http::{HeaderValue, Response, header, header::HeaderName};
use bytes::Bytes;
use futures_util::{Stream, future::BoxFuture, stream::BoxStream};
use http_body::{Body as HttpBody, Frame};
use http_body_util::{BodyExt as _, Either};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::Body;

/// After how much silence a stream shows that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// After how many milliseconds a client whose connection was lost should come back.
const RETRY_MS: u32 = 3000;
/// The longest message that is written in one piece with what stands around it: three pieces would cost more than to
/// copy it.
const SHORT: usize = 1024;
const END: Bytes = Bytes::from_static(b"\n\n");
const COMMENT: Bytes = Bytes::from_static(b":\n\n");
static BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// An event of a stream.
#[derive(Clone, Debug)]
pub(super) struct SseEvent {
    /// What a client that lost its connection says to go on behind this event.
    id: Option<String>,
    message: Bytes,
    primes: bool,
}

impl SseEvent {
    pub(super) fn new(id: Option<String>, message: Bytes) -> SseEvent {
        SseEvent { id, message, primes: false }
    }

    /// The event without a message that a stream begins with, so that its client can come back before the first one.
    /// Clients of revisions before 2025-11-25 take it for a message that is broken.
    pub(super) fn priming(id: String) -> SseEvent {
        SseEvent { id: Some(id), message: Bytes::new(), primes: true }
    }

    fn frames(self) -> VecDeque<Bytes> {
        let mut head = String::new();
        if let Some(id) = &self.id {
            head = format!("id: {id}\n");
        }
        if self.primes {
            head.push_str(&format!("retry: {RETRY_MS}\n"));
        }
        head.push_str("data: ");
        if self.message.len() <= SHORT {
            return VecDeque::from([[head.as_bytes(), &self.message, &END].concat().into()]);
        }
        VecDeque::from([head.into(), self.message, END])
    }
}

/// The answer that is a stream of these events, until they end or `over` says so.
pub(super) fn response(
    events: impl Stream<Item = SseEvent> + Send + 'static,
    over: CancellationToken,
) -> Response<Body> {
    let stream = EventStream {
        events: Box::pin(events),
        frames: VecDeque::new(),
        quiet: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
        over: Box::pin(over.cancelled_owned()),
        ended: false,
    };
    let mut response = Response::new(Either::Right(stream.boxed_unsync()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that gather an answer before they pass it on would gather for as long as the stream lasts.
    headers.insert(BUFFERING.clone(), HeaderValue::from_static("no"));
    response
}

struct EventStream {
    events: BoxStream<'static, SseEvent>,
    /// What is left of the event that is being written.
    frames: VecDeque<Bytes>,
    quiet: Pin<Box<Sleep>>,
    over: BoxFuture<'static, ()>,
    ended: bool,
}

impl EventStream {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        // What there is to say goes before the end.
        match self.events.as_mut().poll_next(cx) {
            Poll::Ready(Some(event)) => {
                self.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
                self.frames = event.frames();
                return Poll::Ready(self.frames.pop_front());
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        if self.over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if self.quiet.as_mut().poll(cx).is_ready() {
            self.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
            // Polled so that the next silence wakes somebody.
            let _ = self.quiet.as_mut().poll(cx);
            return Poll::Ready(Some(COMMENT));
        }
        Poll::Pending
    }
}

impl HttpBody for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(frame) = self.frames.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(frame))));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        self.poll_event(cx).map(|frame| {
            self.ended = frame.is_none();
            frame.map(|frame| Ok(Frame::data(frame)))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    #[tokio::test]
    async fn a_message_goes_out_as_the_bytes_that_it_is() {
        let message = Bytes::from(vec![b'x'; 100_000]);
        let events =
            stream::iter([SseEvent::priming("1/0".into()), SseEvent::new(Some("1/1".into()), message.clone())]);
        let mut body = response(events, CancellationToken::new()).into_body();
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            frames.push(frame.unwrap().into_data().unwrap());
        }
        let own = frames.iter().position(|frame| frame.as_ptr() == message.as_ptr()).expect("nothing is copied");
        let before: Vec<u8> = frames[..own].concat();
        assert_eq!(before, b"id: 1/0\nretry: 3000\ndata: \n\nid: 1/1\ndata: ");
        assert_eq!(frames[own + 1..], [END]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_silent_shows_that_it_is_there_until_it_is_over() {
        let over = CancellationToken::new();
        let mut body = response(stream::pending::<SseEvent>().boxed(), over.clone()).into_body();
        for _ in 0..3 {
            let before = Instant::now();
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), COMMENT);
            assert!(before.elapsed() >= KEEP_ALIVE);
        }
        over.cancel();
        assert!(body.frame().await.is_none());
    }
}
