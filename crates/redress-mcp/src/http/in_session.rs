//! Sessions and streams that are not of one request: how they are opened and ended.

use std::sync::Arc;

use ::http::{HeaderValue, Response, StatusCode, request::Parts};
use futures_util::stream;
use redress_contract::EngineCode;
use redress_core::Refusal;
use redress_wire::{
    jsonrpc::Id,
    mcp::{Era, InitializeParams, ListenParams},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    Body, HttpFace,
    admission::Accepts,
    empty,
    session::{CHANGES, HttpSession},
    sse::{self, SseEvent},
    streamable_request::ReaderEvents,
};
use crate::{
    RequestContext, client_channel::ClientChannel, owner::Owner, refusal::Unfit, request::McpRequest, request_checks,
    session::unguessable,
};

impl HttpFace {
    /// The session that `initialize` opens. Only a client that can be asked something while it waits needs one; where
    /// there is no room for it, it is served without.
    pub(super) fn begin(&self, params: &InitializeParams<'_>, context: &RequestContext) -> Option<Arc<HttpSession>> {
        // Looked at before a place is taken, which would be given back at once.
        if !params.client_can().any() || self.sessions.len() >= self.options.max_sessions {
            return None;
        }
        let (place, owner) = (self.place(context).ok()?, Owner::of(context));
        let over = self.options.shutdown.child_token();
        let session = Arc::new(HttpSession::new(unguessable()?, owner, place, params, over));
        self.sessions.open(&session, self.options.max_sessions).then_some(session)
    }

    /// Answers `initialize` with the name of its session.
    pub(super) async fn begun(
        &self,
        parts: &Parts,
        id: Id<'_>,
        asked: &McpRequest<'_>,
        context: &RequestContext,
        session: &Arc<HttpSession>,
    ) -> Response<Body> {
        tokio::spawn(Arc::clone(session).attend(Arc::downgrade(&self.sessions)));
        let channel = ClientChannel { session: Some(&session.state), ..ClientChannel::default() };
        let reply = self.inner.answer(id, asked, Era::Legacy, context, channel).await;
        let mut response = self.respond(parts, reply, Era::Legacy);
        if let Ok(name) = HeaderValue::from_str(&session.name) {
            response.headers_mut().insert(request_checks::SESSION.clone(), name);
        }
        response
    }

    /// Takes note of a request that starts in a session, or says why it does not.
    pub(super) fn admit(
        &self,
        parts: &Parts,
        session: &HttpSession,
        id: Id<'_>,
        asked: &McpRequest<'_>,
        context: &RequestContext,
    ) -> Result<CancellationToken, Box<Response<Body>>> {
        let refused = |unfit| Box::new(self.refuse(parts, &unfit, id, context, Era::Legacy));
        let cancelled = session.requests.admit(id).map_err(refused)?;
        if session.requests.len() > self.inner.options.in_flight {
            session.requests.ended(id.as_json());
            let refusal = Refusal::new(EngineCode::Overloaded)
                .with_details(&json!({"limit": "in_flight"}))
                .with_retry_after_ms(1000);
            return Err(Box::new(self.no_place(parts, id, Some(asked), refusal, context)));
        }
        Ok(cancelled)
    }

    /// Ends a session.
    pub(super) fn end(&self, session: &HttpSession) -> Response<Body> {
        session.end();
        self.sessions.remove(&session.name);
        empty(StatusCode::NO_CONTENT)
    }

    /// The stream of changes of a session, or what is left of a stream whose connection was lost. Whoever read it
    /// before is at its end: a connection that was lost may seem open for long.
    pub(super) fn stream_of(
        &self,
        parts: &Parts,
        session: &Arc<HttpSession>,
        context: &RequestContext,
    ) -> Response<Body> {
        if Accepts::of(&parts.headers) == Accepts::Json {
            return self.unfit(&Unfit::NoStream, Id::NULL, context);
        }
        let open = match self.open(parts, Id::NULL, None, context) {
            Ok(open) => open,
            Err(refused) => return *refused,
        };
        let over = session.over.clone();
        let (number, after) = match parts.headers.get(&request_checks::RESUMED) {
            None => (CHANGES, None),
            Some(said) => match said.to_str().ok().and_then(read_id) {
                Some((number, after)) if session.resumable => (number, Some(after)),
                // An error would make clients ask for the same again and again.
                Some(_) | None => return sse::response(stream::empty(), over),
            },
        };
        let Some(log) = session.stream(number) else { return sse::response(stream::empty(), over) };
        let events = ReaderEvents::new(log, after, session.resumable.then_some(number), None);
        open.keep(sse::response(events, over))
    }

    /// A stream of changes for a client of the modern era.
    pub(super) async fn listen(
        &self,
        parts: &Parts,
        id: Id<'_>,
        params: &ListenParams<'_>,
        asked: &McpRequest<'_>,
        context: &RequestContext,
    ) -> Response<Body> {
        if Accepts::of(&parts.headers) == Accepts::Json {
            return self.unfit(&Unfit::NoStream, Id::NULL, context);
        }
        let open = match self.open(parts, id, Some(asked), context) {
            Ok(open) => open,
            Err(refused) => return *refused,
        };
        let listening = match self.inner.listening(id, params, context).await {
            Ok(listening) => listening,
            Err(refused) => return self.respond(parts, refused, Era::Modern),
        };
        let told = vec![listening.acknowledged()].into_iter();
        let (over, id) = (self.options.shutdown.clone(), id.as_json().to_owned());
        let events = stream::unfold((Some(listening), told), move |(mut listening, mut told)| {
            let (over, id) = (over.clone(), id.clone());
            async move {
                loop {
                    if let Some(message) = told.next() {
                        return Some((SseEvent::new(None, message.into()), (listening, told)));
                    }
                    let heard = listening.as_mut()?;
                    let next = tokio::select! {
                        () = over.cancelled() => None,
                        next = heard.next() => next,
                    };
                    match next {
                        Some(next) => told = next.into_iter(),
                        None => {
                            let ended = heard.ended(Id::read(&id).unwrap_or(Id::NULL));
                            return Some((SseEvent::new(None, ended.body), (None, told)));
                        }
                    }
                }
            }
        });
        open.keep(sse::response(events, self.options.shutdown.clone()))
    }
}

/// The stream and the event that an id names.
fn read_id(id: &str) -> Option<(u64, u64)> {
    let (number, event) = id.split_once('/')?;
    Some((number.parse().ok()?, event.parse().ok()?))
}
