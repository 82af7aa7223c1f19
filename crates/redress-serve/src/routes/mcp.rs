//! `/mcp`: the MCP face, and the document that says where its tokens come from.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    http::{StatusCode, request::Parts},
    response::Response,
};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use redress_contract::Envelope;
use redress_core::{Refusal, Registry};
use redress_mcp::{HttpFace, HttpOptions, Mcp, McpOptions, PageTrust, SentByTls, StreamPermit, StreamPermits};
use redress_wire::{
    http::Info,
    jsonrpc::Id,
    mcp::{ProtocolError, write_error},
};

use crate::{
    connection::server_state::{Holder, ServerState},
    request::{
        body::{BodyHold, TimedBody},
        cors::Origins,
        meta::HttpRequestMeta,
        response,
        service::Exchange,
    },
};

/// What was said of the MCP face.
#[derive(Debug, Default)]
pub(crate) struct McpSettings {
    pub(crate) mcp: Option<Mcp>,
    pub(crate) http: HttpOptions,
}

impl McpSettings {
    /// The face: the one that was given, or one of all external operations.
    pub(crate) fn face(
        self,
        registry: &Registry,
        info: &Info,
        max_body: usize,
        guarded: bool,
        origins: &Origins,
        streams: CallerStreams,
    ) -> Option<HttpFace> {
        let McpSettings { mcp, mut http } = self;
        let mcp = mcp.or_else(|| {
            let mut options = McpOptions::default();
            match registry.program() {
                Some(program) => options = options.with_program(program),
                None => options.name.clone_from(&info.title),
            }
            options.version.clone_from(&info.version);
            options.description.clone_from(&info.description);
            // Only a profile can be at fault, and there is none.
            Mcp::new(registry.clone(), options).ok()
        })?;
        http.max_body = max_body;
        http.guarded |= guarded;
        http.allowed_origins.extend(origins.given());
        http.shutdown = streams.server_state.shutdown.silent().clone();
        http.sessions = streams.server_state.mcp_sessions.clone();
        http.places = Some(Arc::new(streams));
        if http.server.is_none() && info.server.contains("://") {
            http.server = Some(info.server.clone());
        }
        Some(mcp.http(http))
    }
}

/// The streams of each caller, counted with those of the other faces.
#[derive(Debug)]
pub(crate) struct CallerStreams {
    pub(crate) server_state: Arc<ServerState>,
    /// How many one caller may have open.
    pub(crate) max: usize,
}

impl StreamPermits for CallerStreams {
    fn take(&self, meta: &redress_mcp::RequestContext) -> Result<StreamPermit, Refusal> {
        let holder = Holder::of(meta.caller.as_deref(), meta.peer);
        self.server_state.take_stream(holder, self.max).map(StreamPermit::new)
    }
}

/// One message of a client.
pub(crate) async fn message(exchange: Exchange, body: Body) -> Response {
    if let Err(refusal) = exchange.admit() {
        return refuse(exchange.refused(refusal));
    }
    let taken = exchange.room_for_body(Arc::clone(&exchange.shared.server_state.room));
    let Exchange { shared, line, mut meta, mut parts } = exchange;
    mark(&meta, &mut parts);
    let token = meta.token.take().map(|token| token.secret());
    let Some(face) = &shared.mcp else { return Exchange { shared, line, meta, parts }.nowhere() };
    let (body, broke, room) = TimedBody::new(body, shared.limits.body_time, taken);
    let told = redress_mcp::RequestContext { room: Some(StreamPermit::new(room.clone())), ..meta.for_mcp(&shared) };
    let answer = face.answer(parts, body, token, told).await;
    if let Some(unread) = broke.off() {
        let refusal = shared.unread(unread, shared.max_body);
        return refuse(shared.registry.refuse(refusal, meta.bare()));
    }
    answer.map(|body| Body::new(HeldBody { body, _room: room }))
}

/// Refuses a message that the protocol does not get to see: under the status that HTTP has for it, as an error of
/// JSON-RPC, whose data is the envelope.
pub(crate) fn refuse(envelope: Envelope) -> Response {
    let Some(problem) = envelope.problem() else { return response::envelope(envelope) };
    let mut out = Vec::with_capacity(1024);
    write_error(Id::NULL, ProtocolError::InvalidRequest, &problem.error, Some(&envelope.to_bytes()), &mut out);
    let mut response = response::envelope(envelope);
    *response.body_mut() = Body::from(out);
    response
}

/// A body with the room of what was asked.
struct HeldBody<B> {
    body: B,
    _room: BodyHold,
}

impl<B: HttpBody + Unpin> HttpBody for HeldBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Lets the face know by which scheme the client came, and whether it is a web page that may call.
fn mark(meta: &HttpRequestMeta, parts: &mut Parts) {
    if meta.secure {
        parts.extensions.insert(SentByTls);
    }
    parts.extensions.insert(if meta.page.may_call() { PageTrust::Admitted } else { PageTrust::Foreign });
}

/// Where tokens come from (RFC 9728), if tokens tell who calls.
pub(crate) fn metadata(mut exchange: Exchange) -> Response {
    mark(&exchange.meta, &mut exchange.parts);
    match exchange.shared.mcp.as_ref().and_then(|face| face.metadata(&exchange.parts)) {
        Some(document) => response::body(StatusCode::OK, response::JSON, Bytes::from(document)),
        None => exchange.nowhere(),
    }
}
