//! Answers compressed for readers that accept it.

use std::{convert::Infallible, future::ready, sync::Mutex};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Request, header},
    response::Response,
};
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
    let answered = service_fn(move |_: Request<()>| {
        let response = answer.lock().ok().and_then(|mut answer| answer.take()).unwrap_or_default();
        ready(Ok::<_, Infallible>(response))
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
            response.map(Body::new)
        }
        Err(never) => match never {},
    }
}
