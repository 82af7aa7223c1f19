//! Handler: run within its deadline, cancellable, its panics caught, and dropped for real
//! when it does not come to its own end.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use super::Call;
use crate::{Ctx, author::handler::BoxFuture, contained::let_go};

/// How a handler ended.
pub(super) enum HandlerRun<T> {
    /// By itself.
    Returned(T),
    /// With a panic, whose payload is for the log.
    Panicked(Box<dyn Any + Send>),
    /// Not before its deadline.
    TimedOut,
    /// Not before its deadline, at which it still waited for room for its answer.
    NoRoom,
    /// Not before it was cancelled.
    Cancelled,
    /// Not before its caller has answered.
    Asks,
}

impl Call {
    pub(super) async fn drive<T>(&self, running: BoxFuture<'_, T>) -> HandlerRun<T> {
        if let Some(never) = self.start_handler() {
            return never;
        }
        let ctx = &self.ctx;
        let mut leaving = Leaving { ctx, returned: false };
        let driven = HandlerFuture { running: Some(running), ctx, stop: None }.await;
        leaving.returned = matches!(driven, HandlerRun::Returned(_));
        driven
    }

    /// Takes note that the handler starts, unless it is too late for that.
    pub(super) fn start_handler<T>(&self) -> Option<HandlerRun<T>> {
        if self.ctx.is_cancelled() {
            return Some(HandlerRun::Cancelled);
        }
        if self.ctx.deadline.is_some_and(|deadline| deadline <= self.since) {
            return Some(HandlerRun::TimedOut);
        }
        self.start();
        None
    }
}

/// Tells the tasks that a handler spawned that nobody waits for them any more, unless the
/// handler came to its own end. The path itself may be dropped at any point of a call, so
/// this cannot be a line at its end.
struct Leaving<'a> {
    ctx: &'a Ctx,
    returned: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !self.returned
            && let Some(token) = self.ctx.own.get()
        {
            token.cancel();
        }
    }
}

/// A handler that runs, and what may stop it. Most handlers are done on the first poll, so
/// the timer and the cancellation are only set up when one is not.
struct HandlerFuture<'a, T> {
    running: Option<BoxFuture<'a, T>>,
    ctx: &'a Ctx,
    stop: Option<BoxFuture<'static, Stop>>,
}

#[derive(Clone, Copy)]
enum Stop {
    Deadline,
    Cancellation,
    Question,
}

impl<T> Future for HandlerFuture<'_, T> {
    type Output = HandlerRun<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<HandlerRun<T>> {
        let this = self.get_mut();
        let Some(running) = &mut this.running else { return Poll::Pending };
        let ended = match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
            Ok(Poll::Ready(value)) => HandlerRun::Returned(value),
            Err(payload) => HandlerRun::Panicked(payload),
            Ok(Poll::Pending) => {
                let ctx = this.ctx;
                let stop = this.stop.get_or_insert_with(|| stop(ctx));
                match stop.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Stop::Deadline) if ctx.reserves() => HandlerRun::NoRoom,
                    Poll::Ready(Stop::Deadline) => HandlerRun::TimedOut,
                    Poll::Ready(Stop::Cancellation) => HandlerRun::Cancelled,
                    Poll::Ready(Stop::Question) => HandlerRun::Asks,
                }
            }
        };
        let_go(this.running.take());
        Poll::Ready(ended)
    }
}

/// A path that is dropped while its handler runs drops the handler just as carefully.
impl<T> Drop for HandlerFuture<'_, T> {
    fn drop(&mut self) {
        let_go(self.running.take());
    }
}

fn stop(ctx: &Ctx) -> BoxFuture<'static, Stop> {
    let token = ctx.cancellation().clone();
    let deadline = ctx.deadline;
    // What a composed call asks puts down the whole tree, at its root.
    let asking = ctx.asking.clone().filter(|_| ctx.parent.is_none());
    Box::pin(async move {
        let asks = async {
            match &asking {
                Some(asking) => asking.waiting().await,
                None => std::future::pending().await,
            }
        };
        let at_deadline = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = token.cancelled() => Stop::Cancellation,
            () = asks => Stop::Question,
            () = at_deadline => Stop::Deadline,
        }
    })
}

/// The text of a panic, for the log.
pub(super) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic with no text")
}
