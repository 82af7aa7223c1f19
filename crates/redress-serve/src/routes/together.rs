//! The calls of one batch, run side by side.

use std::{future::Future, pin::Pin, task::Poll};

use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use tokio_util::sync::ReusableBoxFuture;

/// Runs all `calls` at once, and gives what each of them answered, in their order.
///
/// Most calls are done when they are first polled, so each is polled once where it stands,
/// in the place that the one before it has left; only what has to wait keeps a place.
pub(crate) async fn together<'a, F>(calls: impl ExactSizeIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send + 'a> + Send + 'a,
{
    let mut answers: Vec<Option<F::Output>> = Vec::with_capacity(calls.len());
    let mut waiting = FuturesUnordered::new();
    let mut free: Option<ReusableBoxFuture<'a, F::Output>> = None;
    for (place, call) in calls.enumerate() {
        let mut slot = match free.take() {
            Some(mut slot) => {
                slot.set(call);
                slot
            }
            None => ReusableBoxFuture::new(call),
        };
        match std::future::poll_fn(|cx| Poll::Ready(slot.poll(cx))).await {
            Poll::Ready(answer) => {
                answers.push(Some(answer));
                free = Some(slot);
            }
            Poll::Pending => {
                answers.push(None);
                waiting.push(Placed { place, slot });
            }
        }
    }
    while let Some((place, answer)) = waiting.next().await {
        if let Some(slot) = answers.get_mut(place) {
            *slot = Some(answer);
        }
    }
    answers.into_iter().flatten().collect()
}

/// A call that has to wait, and which of them it is.
struct Placed<'a, T> {
    place: usize,
    slot: ReusableBoxFuture<'a, T>,
}

impl<T> Future for Placed<'_, T> {
    type Output = (usize, T);

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<(usize, T)> {
        let place = self.place;
        self.slot.poll_unpin(cx).map(|answer| (place, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };
    use tokio::sync::Barrier;

    #[tokio::test]
    async fn calls_that_wait_for_each_other_all_end_and_keep_their_order() {
        let (barrier, polled) = (Arc::new(Barrier::new(5)), Arc::new(AtomicUsize::new(0)));
        let calls = (0..10).map(|number| {
            let (barrier, polled) = (Arc::clone(&barrier), Arc::clone(&polled));
            async move {
                polled.fetch_add(1, Ordering::Relaxed);
                if number % 2 == 0 {
                    barrier.wait().await;
                }
                number
            }
        });
        assert_eq!(together(calls).await, (0..10).collect::<Vec<_>>());
        assert_eq!(polled.load(Ordering::Relaxed), 10);
        assert_eq!(together((0..0).map(|number: u8| async move { number })).await, [0; 0]);
    }
}
