//! Panics that end where they are: of code that has no part in the outcome of a call (a subscriber of the log, a
//! destructor), and of whatever else nobody foresaw on the way of an answer.
//!
//! Why so: docs/decisions/0120-no-answer-vanishes.md.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use tracing::{Span, span::Entered};

/// Polls a future; a panic inside comes back as what it panicked with, and the future is over.
///
/// ```
/// use redress_core::contained::poll_contained;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let mut broken = std::pin::pin!(async { panic!("nobody foresaw this") });
/// let ended: Result<(), _> = std::future::poll_fn(|cx| poll_contained(broken.as_mut(), cx)).await;
/// assert!(ended.is_err());
/// # });
/// ```
pub fn poll_contained<F: Future>(
    future: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Poll<Result<F::Output, Box<dyn Any + Send>>> {
    match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
        Ok(polled) => polled.map(Ok),
        Err(payload) => Poll::Ready(Err(payload)),
    }
}

/// Does what may panic and must not be missed if it does. The payload is not dropped: its destructor may panic too.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(std::mem::forget).ok()
}

/// Drops what came from an author. A destructor may panic as well as a handler, and must not take the path with it; nor may
/// what it panicked with.
pub(crate) fn let_go<T>(value: T) {
    contain(|| drop(value));
}

/// A span whose subscriber may panic, at its beginning, when it is entered and left, and at its end, without taking along
/// what runs inside. A subscriber observes, and an observer changes no outcome.
#[derive(Debug, Default)]
pub struct ContainedSpan(Option<Span>);

impl ContainedSpan {
    /// The span that `make` makes; none, if that panics or nobody listens.
    pub fn new(make: impl FnOnce() -> Span) -> ContainedSpan {
        ContainedSpan(contain(make).filter(|span| !span.is_disabled()))
    }

    /// Whether nobody listens.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.0.is_none()
    }

    /// Says more of the span.
    pub fn record(&self, record: impl FnOnce(&Span)) {
        if let Some(span) = &self.0 {
            contain(|| record(span));
        }
    }

    /// Goes into the span, until what comes back is dropped.
    pub fn enter(&self) -> InsideSpan<'_> {
        InsideSpan(self.0.as_ref().and_then(|span| contain(|| span.enter())))
    }

    /// Runs `future` inside of the span.
    pub async fn instrument<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            let _inside = self.enter();
            future.as_mut().poll(cx)
        })
        .await
    }
}

impl Clone for ContainedSpan {
    fn clone(&self) -> ContainedSpan {
        ContainedSpan(self.0.as_ref().and_then(|span| contain(|| span.clone())))
    }
}

impl Drop for ContainedSpan {
    fn drop(&mut self) {
        let_go(self.0.take());
    }
}

/// A span that is entered.
#[derive(Debug)]
pub struct InsideSpan<'a>(Option<Entered<'a>>);

impl Drop for InsideSpan<'_> {
    fn drop(&mut self) {
        if let Some(entered) = self.0.take() {
            let_go(entered);
        }
    }
}
