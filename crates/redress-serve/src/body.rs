//! The bodies of messages: read within their time, and written for as long as they run.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::poll;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::pace::Running;

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is larger than is taken.
    TooLarge,
    /// It took too long.
    TooSlow,
    /// The connection broke, or what came is no body.
    Broken,
}

/// Reads a body of `most` bytes within `time`.
pub(crate) async fn read(body: Body, most: usize, time: Duration) -> Result<Bytes, Unread> {
    let mut reading = pin!(axum::body::to_bytes(body, most));
    // Most bodies are there already, and need no timer.
    let read = match poll!(reading.as_mut()) {
        Poll::Ready(read) => read,
        Poll::Pending => tokio::time::timeout(time, reading).await.map_err(|_| Unread::TooSlow)?,
    };
    read.map_err(|error| match is_too_large(&error) {
        true => Unread::TooLarge,
        false => Unread::Broken,
    })
}

fn is_too_large(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| cause.is::<http_body_util::LengthLimitError>())
}

/// A body that breaks off when it takes too long, for whoever reads it elsewhere.
#[cfg(feature = "mcp")]
pub(crate) struct Timed {
    body: Body,
    time: Duration,
    /// Set only once the body has to be waited for.
    end: Option<Pin<Box<tokio::time::Sleep>>>,
    late: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

#[cfg(feature = "mcp")]
impl Timed {
    /// The body, and what tells whether it took too long.
    pub(crate) fn new(body: Body, time: Duration) -> (Timed, std::sync::Arc<std::sync::atomic::AtomicBool>) {
        let late = std::sync::Arc::default();
        (Timed { body, time, end: None, late: std::sync::Arc::clone(&late) }, late)
    }
}

#[cfg(feature = "mcp")]
impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        let time = this.time;
        ready!(this.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(time))).as_mut().poll(cx));
        this.late.store(true, std::sync::atomic::Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(std::io::ErrorKind::TimedOut)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that keeps its request running until it is written.
pub(crate) struct Held {
    body: Body,
    running: Running,
    gave: bool,
}

impl Held {
    pub(crate) fn new(body: Body, running: Running) -> Held {
        Held { body, running, gave: false }
    }
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let gave = std::mem::take(&mut self.gave);
        self.running.asks(gave);
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_some() {
            self.running.gives();
            self.gave = true;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.gave {
            self.running.asks(true);
        }
    }
}
