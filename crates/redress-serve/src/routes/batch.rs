//! The calls of one batch, run side by side and answered in their order.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use http_body::{Body as HttpBody, Frame};
use redress_contract::Reservation;
use redress_core::{BatchOrder, contained::ContainedSpan, offload::CoopBudget};
use tokio::sync::mpsc;
use tokio_util::{sync::ReusableBoxFuture, task::AbortOnDropHandle};

use crate::request::response;

/// The most bytes of answers that are given in one piece. Beyond, they are given one by one as they come.
const ONE_PIECE: usize = 256 * 1024;

/// What one call of a batch answers, as JSON; nothing, if it is not answered at all.
pub(crate) type BatchAnswer = Option<(Vec<u8>, Option<Reservation>)>;

/// What a batch answers.
pub(crate) enum BatchCalls {
    /// Nothing at all.
    Nothing,
    /// A small array.
    Whole(Bytes),
    /// An array that is still being made.
    Streamed(Body),
}

/// Makes the call of each of `members` at once, by its number, and gives what each of them answered, in their order, as one
/// array.
///
/// Most calls are done when they are first polled, so each is made and polled once where it stands, in the place that the
/// one before it has left; only what has to wait keeps a place. A call is large, and not moved about before that. What is
/// answered is written as soon as everything before it is: a batch holds no more than the budget of its connection and
/// what may be charged ahead, whatever its calls answer.
///
/// `id` is what its client calls the whole, for the log.
pub(crate) async fn together<M, F>(
    members: impl ExactSizeIterator<Item = M>,
    call: impl Fn(usize, M) -> F,
    order: Arc<BatchOrder>,
    id: Option<Box<str>>,
) -> BatchCalls
where
    F: Future<Output = BatchAnswer> + Send + 'static,
{
    let mut running = RunningBatch {
        answers: VecDeque::with_capacity(members.len()),
        waiting: FuturesUnordered::new(),
        order,
        first: 0,
        id,
        written: false,
        turn: CoopBudget::begin(),
    };
    let mut free: Option<ReusableBoxFuture<'static, BatchAnswer>> = None;
    for (place, member) in members.enumerate() {
        let mut slot = match free.take() {
            Some(mut slot) => {
                slot.set(call(place, member));
                slot
            }
            None => ReusableBoxFuture::new(call(place, member)),
        };
        match std::future::poll_fn(|cx| Poll::Ready(slot.poll(cx))).await {
            Poll::Ready(answer) => {
                running.order.ended(place);
                running.answers.push_back(Some(answer));
                free = Some(slot);
            }
            Poll::Pending => {
                running.answers.push_back(None);
                running.waiting.push(Placed { place, slot });
            }
        }
        running.turn.over().await;
    }
    running.collect().await
}

/// A batch that is being answered.
struct RunningBatch {
    /// The answers that are not written, from the first of those on.
    answers: VecDeque<Option<BatchAnswer>>,
    waiting: FuturesUnordered<Placed>,
    order: Arc<BatchOrder>,
    /// Which of them the first is.
    first: usize,
    id: Option<Box<str>>,
    /// Whether there is an answer before it.
    written: bool,
    /// Each call is small, or done elsewhere; all of them together are not.
    turn: CoopBudget,
}

impl RunningBatch {
    /// The whole array, or what is to be streamed.
    async fn collect(mut self) -> BatchCalls {
        let answers = self.answers.iter().flatten().flatten();
        let room = answers.map(|(answer, _)| answer.len() + 1).sum::<usize>() + self.answers.len();
        let (mut json, mut reservations) = (Vec::with_capacity(room.min(ONE_PIECE) + 1), Vec::new());
        loop {
            while let Some(Some(answer)) = self.answers.front() {
                let length = answer.as_ref().map_or(0, |(answer, _)| answer.len());
                if json.len() + length > ONE_PIECE {
                    return BatchCalls::Streamed(self.stream(response::held(json, Some(reservations))));
                }
                let Some((answer, reservation)) = self.shift() else { continue };
                json.push(self.separator());
                json.extend_from_slice(&answer);
                reservations.extend(reservation);
            }
            // What is not written must not hold the room that the calls behind it may wait for.
            if !reservations.is_empty() && !self.waiting.is_empty() {
                return BatchCalls::Streamed(self.stream(response::held(json, Some(reservations))));
            }
            if !self.next().await {
                break;
            }
        }
        if json.is_empty() {
            return BatchCalls::Nothing;
        }
        json.push(b']');
        let held = (!reservations.is_empty()).then_some(reservations);
        BatchCalls::Whole(response::held(json, held))
    }

    /// Takes the first answer, which is there.
    fn shift(&mut self) -> BatchAnswer {
        self.first += 1;
        self.answers.pop_front().flatten().flatten()
    }

    fn separator(&mut self) -> u8 {
        if std::mem::replace(&mut self.written, true) { b',' } else { b'[' }
    }

    /// Waits for one more call to end; says whether there was one.
    async fn next(&mut self) -> bool {
        let Some((place, answer)) = self.waiting.next().await else { return false };
        self.order.ended(place);
        if let Some(slot) = place.checked_sub(self.first).and_then(|place| self.answers.get_mut(place)) {
            *slot = Some(answer);
        }
        self.turn.over().await;
        true
    }

    /// The rest of the array, behind `begun`. The calls run in a task of their own: a reader that is slow must not hold
    /// up calls that have begun, and what they hold. Dropping the body ends them.
    fn stream(mut self, begun: Bytes) -> Body {
        // What waits here to be read is charged, so it needs no other bound.
        let (sender, pieces) = mpsc::unbounded_channel();
        let id = self.id.clone();
        let _ = sender.send(ArrayChunk::Bytes(begun));
        let task = async move {
            let give = |bytes| sender.send(ArrayChunk::Bytes(bytes)).is_ok();
            loop {
                while let Some(Some(_)) = self.answers.front() {
                    let Some((answer, reservation)) = self.shift() else { continue };
                    let separator: &[u8] = if self.separator() == b',' { b"," } else { b"[" };
                    // Where nobody reads any more, what is answered frees its room at once, and the calls that wait for
                    // it would all run before this task is ended.
                    if !give(Bytes::from_static(separator)) || !give(response::held(answer, reservation)) {
                        return;
                    }
                }
                if !self.next().await {
                    break;
                }
            }
            if give(Bytes::from_static(b"]")) {
                let _ = sender.send(ArrayChunk::End);
            }
        };
        let span = ContainedSpan::new(tracing::Span::current);
        let task = AbortOnDropHandle::new(tokio::spawn(span.instrument(task)));
        Body::new(StreamedArray { pieces: Some(pieces), id, _task: task })
    }
}

/// A part of an array that is streamed.
enum ArrayChunk {
    Bytes(Bytes),
    /// It is complete.
    End,
}

/// An array that is streamed.
struct StreamedArray {
    /// None once it has ended: whoever compresses a body asks once more behind its end.
    pieces: Option<mpsc::UnboundedReceiver<ArrayChunk>>,
    id: Option<Box<str>>,
    _task: AbortOnDropHandle<()>,
}

impl HttpBody for StreamedArray {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(pieces) = &mut self.pieces else { return Poll::Ready(None) };
        let piece = ready!(pieces.poll_recv(cx));
        if let Some(ArrayChunk::Bytes(bytes)) = piece {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        self.pieces = None;
        Poll::Ready(match piece {
            Some(_) => None,
            // Its task is gone: half an array must not look like a whole answer.
            None => {
                tracing::error!(request_id = self.id.as_deref(), "the answer of a batch broke off");
                Some(Err(axum::Error::new(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_none()
    }
}

/// A call that has to wait, and which of them it is.
struct Placed {
    place: usize,
    slot: ReusableBoxFuture<'static, BatchAnswer>,
}

impl Future for Placed {
    type Output = (usize, BatchAnswer);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(usize, BatchAnswer)> {
        let place = self.place;
        self.slot.poll_unpin(cx).map(|answer| (place, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Barrier;

    fn answer(number: usize, length: usize) -> BatchAnswer {
        Some((format!("\"{number}{}\"", "x".repeat(length)).into_bytes(), None))
    }

    async fn json(together: BatchCalls) -> (bool, Vec<String>) {
        let (whole, bytes) = match together {
            BatchCalls::Nothing => return (true, Vec::new()),
            BatchCalls::Whole(bytes) => (true, bytes),
            BatchCalls::Streamed(body) => (false, body.collect().await.unwrap().to_bytes()),
        };
        (whole, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn calls_that_wait_for_each_other_all_end_and_keep_their_order() {
        for length in [0, ONE_PIECE / 4] {
            let (barrier, polled) = (Arc::new(Barrier::new(5)), Arc::new(AtomicUsize::new(0)));
            let call = |number: usize, ()| {
                let (barrier, polled) = (Arc::clone(&barrier), Arc::clone(&polled));
                async move {
                    polled.fetch_add(1, Ordering::Relaxed);
                    if number.is_multiple_of(2) {
                        barrier.wait().await;
                    }
                    if number == 7 { None } else { answer(number, length) }
                }
            };
            let (whole, answers) = json(together([(); 10].into_iter(), call, Arc::default(), None).await).await;
            let numbers: Vec<&str> = answers.iter().map(|answer| answer.trim_end_matches('x')).collect();
            assert_eq!(numbers, ["0", "1", "2", "3", "4", "5", "6", "8", "9"]);
            assert_eq!((whole, polled.load(Ordering::Relaxed)), (length == 0, 10));
        }
        let none = together([(); 3].into_iter(), |_, ()| async move { None }, Arc::default(), None).await;
        assert_eq!(json(none).await, (true, Vec::new()));
    }

    #[tokio::test]
    async fn others_have_their_turn_between_calls_that_each_take_a_moment() {
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        let other = AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }));
        let call = |number, ()| async move {
            let since = std::time::Instant::now();
            while since.elapsed() < std::time::Duration::from_millis(1) {}
            answer(number, 0)
        };
        let (whole, answers) = json(together([(); 50].into_iter(), call, Arc::default(), None).await).await;
        assert_eq!((whole, answers.len()), (true, 50));
        assert!(turns.load(Ordering::Relaxed) >= 10, "{turns:?}");
        drop(other);
    }

    #[tokio::test]
    async fn a_reader_that_leaves_ends_the_calls_that_run() {
        let held = Arc::new(());
        let call = |number, ()| {
            let held = Arc::clone(&held);
            async move {
                if number > 0 {
                    std::future::pending::<()>().await;
                }
                drop(held);
                answer(number, ONE_PIECE)
            }
        };
        let together = together([(); 3].into_iter(), call, Arc::default(), None).await;
        let BatchCalls::Streamed(body) = together else { panic!("it is large") };
        assert_eq!(Arc::strong_count(&held), 3);
        drop(body);
        while Arc::strong_count(&held) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_array_that_has_ended_stays_ended_however_often_it_is_asked() {
        let call = |number, ()| async move { answer(number, ONE_PIECE) };
        let streamed = together([(); 3].into_iter(), call, Arc::default(), None).await;
        let BatchCalls::Streamed(mut body) = streamed else { panic!("it is large") };
        while let Some(frame) = body.frame().await {
            assert!(frame.is_ok());
        }
        assert!(body.is_end_stream());
        for _ in 0..3 {
            assert!(body.frame().await.is_none());
        }
    }

    #[tokio::test]
    async fn an_array_whose_task_is_gone_breaks_off_and_does_not_look_whole() {
        let call = |number, ()| async move {
            if number == 2 {
                tokio::task::yield_now().await;
                std::panic::resume_unwind(Box::new("nobody foresaw this"));
            }
            answer(number, ONE_PIECE)
        };
        let streamed = together([(); 3].into_iter(), call, Arc::default(), None).await;
        let BatchCalls::Streamed(mut body) = streamed else { panic!("it is large") };
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            frames.push(frame.is_ok());
        }
        let (last, rest) = frames.split_last().unwrap();
        assert!(!last && rest.iter().all(|given| *given), "{frames:?}");
    }
}
