//! What a caller holds open: its streams and its sessions.

use std::{
    any::Any,
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use ::http::{HeaderValue, Response, StatusCode, header, request::Parts};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt as _, Either, combinators::UnsyncBoxBody};
use redress_contract::EngineCode;
use redress_core::Refusal;
use redress_wire::{http as wire, jsonrpc::Id, mcp::Era};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::{Body, HttpFace};
use crate::{RequestContext, prompts, request::McpRequest};

/// Counts what each caller holds open.
pub trait StreamPermits: fmt::Debug + Send + Sync + 'static {
    /// One more place for whoever asks, or why there is none.
    fn take(&self, context: &RequestContext) -> Result<StreamPermit, Refusal>;
}

/// A place that is taken. It is given back when its last clone is dropped.
#[derive(Clone)]
pub struct StreamPermit {
    _held: Arc<dyn Any + Send + Sync>,
}

impl StreamPermit {
    /// A place that is given back by dropping `held`.
    pub fn new(held: impl Any + Send + Sync) -> StreamPermit {
        StreamPermit { _held: Arc::new(held) }
    }
}

impl fmt::Debug for StreamPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamPermit").finish_non_exhaustive()
    }
}

/// What an answer holds for as long as it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldPermits {
    _place: Option<StreamPermit>,
    _listening: Option<Arc<OwnedSemaphorePermit>>,
}

impl HeldPermits {
    /// Keeps what is held until the body has ended, or nobody reads it any more.
    pub(super) fn keep(self, answer: Response<Body>) -> Response<Body> {
        answer.map(|body| match body {
            Either::Left(whole) => Either::Left(whole),
            Either::Right(body) => Either::Right(PermittedBody { body, _open: self }.boxed_unsync()),
        })
    }
}

/// A body, and what is held until it has ended.
struct PermittedBody {
    body: UnsyncBoxBody<Bytes, Infallible>,
    _open: HeldPermits,
}

impl HttpBody for PermittedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl HttpFace {
    /// One more place for the caller, where they are counted.
    pub(super) fn place(&self, context: &RequestContext) -> Result<Option<StreamPermit>, Refusal> {
        self.options.places.as_ref().map(|places| places.take(context)).transpose()
    }

    /// What a request holds whose answer may be a stream, or the answer that there is no place for
    /// it.
    pub(super) fn open(
        &self,
        parts: &Parts,
        id: Id<'_>,
        asked: Option<&McpRequest<'_>>,
        context: &RequestContext,
    ) -> Result<HeldPermits, Box<Response<Body>>> {
        let listens = matches!(asked, Some(McpRequest::Listen(_)));
        if asked.is_some_and(|asked| !listens && !asked.runs()) {
            return Ok(HeldPermits::default());
        }
        let open = || {
            let place = self.place(context)?;
            let listening = listens.then(|| Arc::clone(&self.listening).try_acquire_owned()).transpose();
            let listening = listening.map_err(|_| {
                Refusal::new(EngineCode::Overloaded)
                    .with_details(&json!({"limit": "max_sessions"}))
                    .with_retry_after_ms(1000)
            })?;
            Ok(HeldPermits { _place: place, _listening: listening.map(Arc::new) })
        };
        open().map_err(|refusal| Box::new(self.no_place(parts, id, asked, refusal, context)))
    }

    /// Refuses what there is no place for: a tool in its result, anything else under a status.
    pub(super) fn no_place(
        &self,
        parts: &Parts,
        id: Id<'_>,
        asked: Option<&McpRequest<'_>>,
        refusal: Refusal,
        context: &RequestContext,
    ) -> Response<Body> {
        let envelope = self.inner.registry.refuse(refusal, context.request(b""));
        let version = asked.and_then(McpRequest::meta).and_then(|meta| meta.protocol_version.as_deref());
        let era = version.and_then(Era::of).unwrap_or(Era::Legacy);
        if let Some(McpRequest::Call(params)) = asked {
            let entry = self.inner.catalogue.find(&params.name);
            return self.respond(parts, self.inner.carry(id, &envelope, None, entry, era, context), era);
        }
        let mut response = self.respond(parts, prompts::failed(id, &envelope, None, era), era);
        if let Some(problem) = envelope.problem() {
            *response.status_mut() =
                StatusCode::from_u16(wire::status(problem)).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
            if let Some(seconds) = wire::retry_after_seconds(problem) {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
        }
        response
    }
}
