//! The bodies of messages: read within their time, and written for as long as they run.

use std::{
    ops::Deref,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::poll;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;

use crate::{
    connection::conn_watchdog::BodyTurn,
    request::body_budget::{BodyBudget, BodyBudgetExceeded, BodyReservation},
};

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It is larger than is taken.
    TooLarge,
    /// It took too long.
    TooSlow,
    /// There is no room for it beside the others that are held.
    NoRoom,
    /// The connection broke, or what came is no body.
    Broken,
}

impl From<BodyBudgetExceeded> for BodyError {
    fn from(_: BodyBudgetExceeded) -> BodyError {
        BodyError::NoRoom
    }
}

/// A body that was read, with the room that it takes.
#[derive(Debug)]
pub(crate) struct CollectedBody<R: Deref<Target = BodyBudget>> {
    bytes: Bytes,
    _taken: BodyReservation<R>,
}

impl<R: Deref<Target = BodyBudget>> Deref for CollectedBody<R> {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// Reads a body of `max` bytes within `time`.
pub(crate) async fn read<R: Deref<Target = BodyBudget>>(
    body: Body,
    max: usize,
    time: Duration,
    mut taken: BodyReservation<R>,
) -> Result<CollectedBody<R>, BodyError> {
    let bytes = {
        let mut reading = pin!(collect(body, max, &mut taken));
        // Most bodies are there already, and need no timer.
        match poll!(reading.as_mut()) {
            Poll::Ready(read) => read?,
            Poll::Pending => tokio::time::timeout(time, reading).await.map_err(|_| BodyError::TooSlow)??,
        }
    };
    Ok(CollectedBody { bytes, _taken: taken })
}

async fn collect<R: Deref<Target = BodyBudget>>(
    mut body: Body,
    max: usize,
    taken: &mut BodyReservation<R>,
) -> Result<Bytes, BodyError> {
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    loop {
        let held = first.len() + rest.len();
        let frame = match poll!(body.frame()) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                taken.waits(held)?;
                body.frame().await
            }
        };
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        if data.len() > max - held {
            return Err(BodyError::TooLarge);
        }
        taken.holds(held + data.len())?;
        if held == 0 {
            // Most bodies come in one piece, which is not copied.
            first = data;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// A body that breaks off when it takes too long or there is no room for it, for whoever reads it
/// elsewhere.
#[cfg(feature = "mcp")]
pub(crate) struct TimedBody {
    body: Body,
    time: Duration,
    /// Set only once the body has to be waited for.
    end: Option<Pin<Box<tokio::time::Sleep>>>,
    taken: Option<BodyReservation<std::sync::Arc<BodyBudget>>>,
    held: usize,
    broke: BodyErrorSlot,
    room: BodyHold,
}

/// The room of a body that was read elsewhere, held until this is dropped: the bytes outlive their reader.
#[cfg(feature = "mcp")]
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyHold(std::sync::Arc<std::sync::Mutex<Option<BodyReservation<std::sync::Arc<BodyBudget>>>>>);

#[cfg(feature = "mcp")]
impl Drop for TimedBody {
    fn drop(&mut self) {
        *self.room.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = self.taken.take();
    }
}

/// Tells why a body broke off.
#[cfg(feature = "mcp")]
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyErrorSlot(std::sync::Arc<std::sync::OnceLock<BodyError>>);

#[cfg(feature = "mcp")]
impl BodyErrorSlot {
    /// Why, if it did.
    pub(crate) fn off(&self) -> Option<BodyError> {
        self.0.get().copied()
    }
}

#[cfg(feature = "mcp")]
impl TimedBody {
    /// The body, what tells whether it broke off, and its room.
    pub(crate) fn new(
        body: Body,
        time: Duration,
        taken: BodyReservation<std::sync::Arc<BodyBudget>>,
    ) -> (TimedBody, BodyErrorSlot, BodyHold) {
        let (broke, room) = (BodyErrorSlot::default(), BodyHold::default());
        let timed =
            TimedBody { body, time, end: None, taken: Some(taken), held: 0, broke: broke.clone(), room: room.clone() };
        (timed, broke, room)
    }

    /// Takes the room of what was read, at the end of a step or while the body is waited for.
    fn take_room(&mut self, waits: bool) -> Result<(), BodyBudgetExceeded> {
        let held = self.held;
        self.taken.as_mut().map_or(Ok(()), |taken| if waits { taken.waits(held) } else { taken.holds(held) })
    }

    fn breaks(&self, why: BodyError) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let _ = self.broke.0.set(why);
        Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(std::io::ErrorKind::TimedOut)))))
    }
}

#[cfg(feature = "mcp")]
impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let taken = match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                this.held += data.map_or(0, Bytes::len);
                match this.take_room(false) {
                    Ok(()) => return Poll::Ready(frame),
                    Err(full) => Err(full),
                }
            }
            Poll::Pending => this.take_room(true),
        };
        if let Err(full) = taken {
            return this.breaks(full.into());
        }
        let time = this.time;
        ready!(this.end.get_or_insert_with(|| Box::pin(tokio::time::sleep(time))).as_mut().poll(cx));
        this.breaks(BodyError::TooSlow)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that keeps its request running until it is written.
pub(crate) struct RunningBody {
    body: Body,
    /// What was not given yet of what the body gave.
    rest: Bytes,
    /// How much was given since others had their turn.
    given: usize,
    /// Whether it is given in frames. On HTTP/2 whatever is given at once is kept for its reader, who
    /// may take none of it, and the request seems to have ended.
    pieces: bool,
    turn: BodyTurn,
}

/// How much of a large answer is given at once on HTTP/1.1.
pub(crate) const SLICE: usize = 256 * 1024;
/// After how much of an answer the others on the same worker get their turn. A reader on the same machine takes it as
/// fast as it is given, and every byte is copied into the socket on the way.
const TURN: usize = 1024 * 1024;
/// How much is given at once, which is what one frame of HTTP/2 holds.
const PIECE: usize = 16 * 1024;
/// The most that is given as the last piece: it is kept for its reader unseen.
const LAST: usize = 1024;

impl RunningBody {
    pub(crate) fn new(body: Body, pieces: bool, turn: BodyTurn) -> RunningBody {
        RunningBody { body, rest: Bytes::new(), given: 0, pieces, turn }
    }

    /// What is given first of a frame.
    fn cut(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        match frame.into_data() {
            Ok(data) if self.pieces || data.len() > SLICE => {
                self.rest = data;
                Frame::data(self.piece())
            }
            Ok(data) => Frame::data(data),
            Err(trailers) => trailers,
        }
    }

    /// The next piece of the rest. A last one of some size is cut, so that the end of the answer is
    /// asked for only once its reader has room for the whole.
    fn piece(&mut self) -> Bytes {
        let length = self.rest.len();
        if !self.pieces {
            return self.rest.split_to(length.min(SLICE));
        }
        let ends = length > LAST && self.body.is_end_stream();
        let piece = if length > PIECE { PIECE } else { length - usize::from(ends) };
        self.rest.split_to(piece)
    }
}

impl HttpBody for RunningBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        this.turn.asked();
        if this.given >= TURN {
            this.given = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = match this.rest.is_empty() {
            true => ready!(Pin::new(&mut this.body).poll_frame(cx)).map(|frame| frame.map(|frame| this.cut(frame))),
            false => Some(Ok(Frame::data(this.piece()))),
        };
        if let Some(frame) = &frame {
            this.given += frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len);
            this.turn.gave();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, mut hint) = (self.rest.len() as u64, self.body.size_hint());
        let (lower, upper) = (hint.lower(), hint.upper());
        if let Some(upper) = upper {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(lower.saturating_add(rest));
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::connection::conn_watchdog::ConnTracker;

    async fn pieces(length: usize, http2: bool) -> Vec<usize> {
        let tracker = Arc::new(ConnTracker::default());
        let entered = tracker.enter(None);
        let text: Bytes = (0..length).map(|at| at as u8).collect();
        let mut held = RunningBody::new(Body::from(text.clone()), http2, entered.activity.begin().body());
        let (mut lengths, mut whole) = (Vec::new(), BytesMut::new());
        while !held.is_end_stream() {
            assert_eq!(held.size_hint().exact(), Some((length - whole.len()) as u64));
            let data = held.frame().await.unwrap().unwrap().into_data().unwrap();
            lengths.push(data.len());
            whole.extend_from_slice(&data);
        }
        assert_eq!(whole, text);
        lengths
    }

    #[tokio::test]
    async fn a_large_answer_is_given_in_pieces_and_its_end_alone() {
        assert_eq!(pieces(0, true).await, [] as [usize; 0]);
        assert_eq!(pieces(LAST, true).await, [LAST]);
        assert_eq!(pieces(LAST + 1, true).await, [LAST, 1]);
        assert_eq!(pieces(PIECE, true).await, [PIECE - 1, 1]);
        assert_eq!(pieces(PIECE + 5, true).await, [PIECE, 5]);
        assert_eq!(pieces(2 * PIECE + LAST + 1, true).await, [PIECE, PIECE, LAST, 1]);
    }

    #[tokio::test]
    async fn a_large_answer_over_http1_lets_others_have_their_turn() {
        assert_eq!(pieces(SLICE, false).await, [SLICE]);
        assert_eq!(pieces(2 * SLICE + 1, false).await, [SLICE, SLICE, 1]);
        let tracker = Arc::new(ConnTracker::default());
        let entered = tracker.enter(None);
        let mut held = RunningBody::new(Body::from(vec![0; 2 * TURN]), false, entered.activity.begin().body());
        for _ in 0..TURN / SLICE {
            assert!(matches!(futures_util::poll!(held.frame()), Poll::Ready(Some(Ok(_)))));
        }
        assert!(futures_util::poll!(held.frame()).is_pending());
        assert!(futures_util::poll!(held.frame()).is_ready());
    }
}
