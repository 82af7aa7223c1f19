//! Answers compressed for readers that accept it.

use std::{
    convert::Infallible,
    future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Request, header},
    response::Response,
};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tower::{Service as _, service_fn};
use tower_http::{
    CompressionLevel,
    compression::{
        Compression,
        predicate::{NotForContentType, Predicate as _, SizeAbove},
    },
};

/// The least bytes that are worth it: what fits into one packet arrives no sooner.
const WORTH_IT: u64 = 1024;

/// What the reader accepts, if it is anything but plain bytes.
pub(crate) fn accepted(headers: &HeaderMap) -> Option<HeaderValue> {
    let accept = headers.get(header::ACCEPT_ENCODING)?;
    let text = accept.to_str().ok()?;
    (text.contains("gzip") || text.contains("br") || text.contains('*')).then(|| accept.clone())
}

/// Compresses the answer as the reader accepts it, unless it is small, a stream, or compressed.
pub(crate) async fn compress(accepted: HeaderValue, response: Response) -> Response {
    let status = response.status();
    // The layer wants a service, and the answer is there already.
    let answer = Mutex::new(Some(response));
    let pause = Arc::new(AtomicBool::new(false));
    let pieces = Arc::clone(&pause);
    let answered = service_fn(move |_: Request<()>| {
        let response = answer.lock().ok().and_then(|mut answer| answer.take()).unwrap_or_default();
        future::ready(Ok::<_, Infallible>(response.map(|body| PacedBody::new(body, Arc::clone(&pieces)))))
    });
    let worth_it = SizeAbove::new(WORTH_IT).and(NotForContentType::SSE).and(NotForContentType::IMAGES);
    let mut compression = Compression::new(answered).quality(CompressionLevel::Fastest).compress_when(worth_it);
    let mut request = Request::new(());
    request.headers_mut().insert(header::ACCEPT_ENCODING, accepted);
    match compression.call(request).await {
        Ok(mut response) => {
            // Where the reader accepts no encoding at all, not even plain bytes, the layer says 406. The call
            // has run by then, and how it ended is more than how it is written.
            *response.status_mut() = status;
            response.map(|body| Body::new(Paused { body: Body::new(body), pause, owed: false }))
        }
        Err(never) => match never {},
    }
}

/// How much is compressed before whatever else waits on the worker gets its turn.
const PIECE: usize = 32 * 1024;

/// A body that is given in pieces, with a pause behind each. What compresses it reads on for as long as something is
/// there and nothing has come out, which may be the whole body where it compresses well.
struct PacedBody {
    body: Body,
    rest: Bytes,
    pauses: bool,
    /// Whether the body has ended. What compresses it asks once more behind its end, which no body has to expect.
    ended: bool,
    /// Tells that there was a pause.
    pause: Arc<AtomicBool>,
}

impl PacedBody {
    fn new(body: Body, pause: Arc<AtomicBool>) -> PacedBody {
        PacedBody { body, rest: Bytes::new(), pauses: false, ended: false, pause }
    }
}

/// A compressed body that passes each pause on. What compresses it may use the pause to give what it has, and whoever
/// writes that would go on at once.
struct Paused {
    body: Body,
    pause: Arc<AtomicBool>,
    owed: bool,
}

impl HttpBody for Paused {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if std::mem::take(&mut self.owed) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.owed = self.pause.swap(false, Ordering::Relaxed) && polled.is_ready();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if std::mem::take(&mut this.pauses) {
            this.pause.store(true, Ordering::Relaxed);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if this.ended {
            return Poll::Ready(None);
        }
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(cx)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => this.rest = data,
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    this.ended = true;
                    return Poll::Ready(None);
                }
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE));
        this.pauses = piece.len() == PIECE;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && (self.ended || self.body.is_end_stream())
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
    use http_body_util::BodyExt as _;

    use super::*;

    /// How often the body is asked before it ends, and how much of it comes in between.
    fn polled(mut body: impl HttpBody<Data = Bytes> + Unpin) -> (usize, usize) {
        let (mut pauses, mut bytes) = (0, 0);
        loop {
            match Pin::new(&mut body).poll_frame(&mut Context::from_waker(std::task::Waker::noop())) {
                Poll::Pending => pauses += 1,
                Poll::Ready(None) => return (pauses, bytes),
                Poll::Ready(Some(frame)) => {
                    bytes += frame.ok().and_then(|frame| frame.into_data().ok()).map_or(0, |data| data.len());
                }
            }
        }
    }

    #[test]
    fn a_large_answer_that_compresses_well_pauses_while_it_is_compressed() {
        let response = Response::new(Body::from(vec![b' '; 1024 * 1024]));
        let compressed = futures_util::FutureExt::now_or_never(compress(HeaderValue::from_static("gzip"), response));
        let (pauses, bytes) = polled(compressed.unwrap().into_body());
        assert!(bytes < 64 * 1024, "{bytes}");
        assert_eq!(pauses, 1024 * 1024 / PIECE);
    }

    #[tokio::test]
    async fn a_body_in_pieces_is_the_same_body() {
        let whole: Bytes = (0..3 * PIECE + 5).map(|at| at as u8).collect();
        let pieces = PacedBody::new(Body::from(whole.clone()), Arc::default());
        assert_eq!(pieces.size_hint().exact(), Some(whole.len() as u64));
        assert_eq!(pieces.collect().await.unwrap().to_bytes(), whole);
    }
}
