//! The face over HTTP: what may come in, and which way it takes.

mod admission;
mod events;
mod in_session;
mod session;
mod sessions;
mod sse;
mod stream_permits;
mod streamable_request;

use std::{convert::Infallible, pin::pin, sync::Arc, task::Poll};

use ::http::{HeaderValue, Method, Response, StatusCode, header, header::HeaderName, request::Parts};
use bytes::Bytes;
use futures_util::poll;
use http_body::Body as HttpBody;
use http_body_util::{BodyExt as _, Either, Full, Limited, combinators::UnsyncBoxBody};
use redress_contract::{EngineCode, RequestId};
use redress_core::{IdentityError, Refusal, Secret};
use redress_wire::{
    http::header::REQUEST_ID,
    jsonrpc::{self, Id, Member, RpcCall, RpcMessage, Unreadable},
    mcp::{Era, ProtocolError, RequestMeta},
};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    Mcp, Metadata, RequestContext,
    auth::{self, Challenge},
    client_channel::ClientChannel,
    mcp::McpInner,
    owner::Owner,
    refusal::Unfit,
    reply::{Reply, ReplyKind},
    request::McpRequest,
    request_checks,
};
use admission::Accepts;
use session::HttpSession;
pub use sessions::OpenSessions;
use sessions::Sessions;
pub use stream_permits::{StreamPermit, StreamPermits};
use streamable_request::StreamableRequest;

/// The body of an answer.
pub type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>;

static CALL_ID: HeaderName = HeaderName::from_static(REQUEST_ID);
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What can be set of the face over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The most bytes that a message may have.
    pub max_body: usize,
    /// Whether something else than the address tells who calls, so that it may be reached under
    /// any name. Where nothing does, only the names of this machine are answered.
    pub guarded: bool,
    /// Further names under which the server may be reached, such as `mcp.example.com`.
    pub allowed_hosts: Vec<String>,
    /// Further origins of web pages that may call, such as `https://app.example.com`; `*` is all of them.
    pub allowed_origins: Vec<String>,
    /// Whether those without a token may call what is open to everyone. If not, they are asked
    /// for one at once, which is what makes clients get it.
    pub anonymous: bool,
    /// Where tokens come from.
    pub authorization_servers: Vec<String>,
    /// The address of the server, where the `Host` of a request does not tell it.
    pub server: Option<String>,
    /// How many sessions of legacy clients there may be at once, and how many streams of changes.
    /// A client beyond that is served without a session, and is not asked anything; a stream
    /// beyond it is OVERLOADED.
    pub max_sessions: usize,
    /// The sessions that are open already.
    pub sessions: OpenSessions,
    /// Who counts what each caller holds open: every session, and every answer that is a stream.
    /// Without it, nobody does.
    pub places: Option<Arc<dyn StreamPermits>>,
    /// What ends every session, and every stream that is still open.
    pub shutdown: CancellationToken,
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            max_body: 4 * 1024 * 1024,
            guarded: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            anonymous: false,
            authorization_servers: Vec::new(),
            server: None,
            max_sessions: 1024,
            sessions: OpenSessions::default(),
            places: None,
            shutdown: CancellationToken::new(),
        }
    }
}

/// What a request is marked with, among its extensions, that the client has sent by TLS.
#[derive(Clone, Copy, Debug)]
pub struct SentByTls;

/// What a request is marked with, among its extensions, by a server that judges on every face which web pages may
/// call. One that is not marked is judged here: it may come of no page, or of one of this very server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageTrust {
    /// It comes of no page, or of one that may call.
    Admitted,
    /// It comes of a page that may not, unless [`HttpOptions::allowed_origins`] has it.
    Foreign,
}

/// The face over HTTP.
#[derive(Clone)]
pub struct HttpFace {
    inner: Arc<McpInner>,
    sessions: Arc<Sessions>,
    /// The streams of changes that there may still be.
    listening: Arc<Semaphore>,
    options: HttpOptions,
    metadata: Option<Metadata>,
}

impl HttpFace {
    pub(crate) fn new(mcp: &Mcp, options: HttpOptions) -> HttpFace {
        let inner = Arc::clone(&mcp.0);
        options.sessions.0.carry_on(&inner);
        let metadata = inner
            .registry
            .identity()
            .map(|_| Metadata::new(&inner.options.name, options.authorization_servers.clone(), &inner.registry));
        let listening = Arc::new(Semaphore::new(options.max_sessions.min(Semaphore::MAX_PERMITS)));
        HttpFace { sessions: Arc::clone(&options.sessions.0), listening, inner, options, metadata }
    }

    /// The document about the protected resource, where tokens tell who calls.
    pub fn metadata(&self, parts: &Parts) -> Option<Vec<u8>> {
        self.metadata.as_ref().map(|metadata| metadata.document(&self.base(parts)))
    }

    /// Answers one message. `token` is the bearer token that came with it.
    pub async fn answer<B>(
        &self,
        parts: Parts,
        body: B,
        token: Option<Secret>,
        mut context: RequestContext,
    ) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if let Err(unfit) = admission::admit(&self.options, &parts) {
            return self.unfit(&unfit, Id::NULL, &context);
        }
        let session = match request_checks::session(&parts.headers) {
            Ok(session) => session.map(Box::<str>::from),
            Err(unfit) => return self.unfit(&unfit, Id::NULL, &context),
        };
        if let Err(why) = self.identify(token.as_ref(), &mut context).await {
            return self.unidentified(&parts, why, &context);
        }
        // Before anything else is looked at, so that nothing tells a session of another from none.
        let session = match session.map(|name| self.sessions.find(&name, &Owner::of(&context))) {
            Some(None) => return self.no_session(&parts, &context),
            Some(Some(session)) => {
                session.touch();
                context.session_id = Some(Arc::clone(&session.name));
                Some(session)
            }
            None => None,
        };
        match (&parts.method, &session) {
            (&Method::POST, _) => {}
            (&Method::GET, Some(session)) => return self.stream_of(&parts, session, &context),
            (&Method::DELETE, Some(session)) => return self.end(session),
            _ => return self.not_allowed(&context),
        }
        if let Err(unfit) = admission::negotiate(&parts.headers) {
            return self.unfit(&unfit, Id::NULL, &context);
        }
        let mut reading = pin!(Limited::new(body, self.options.max_body).collect());
        let read = match poll!(reading.as_mut()) {
            Poll::Ready(read) => read,
            Poll::Pending => {
                let read = reading.await;
                // A token counts when the call begins, and may have been revoked while the rest was waited for.
                if let Err(why) = self.identify(token.as_ref(), &mut context).await {
                    return self.unidentified(&parts, why, &context);
                }
                if session.as_ref().is_some_and(|session| !session.is_of(&Owner::of(&context))) {
                    return self.no_session(&parts, &context);
                }
                read
            }
        };
        let body = match read {
            Ok(body) => body.to_bytes(),
            Err(_) => return self.unfit(&Unfit::TooLarge(self.options.max_body), Id::NULL, &context),
        };
        match jsonrpc::read(&body, 1) {
            Ok(RpcMessage::Single(Member::Call(call))) => self.call(&parts, &call, &body, &context, session).await,
            Ok(RpcMessage::Single(Member::Invalid(_)))
                if session.is_some_and(|session| session.questions.answered(&body)) =>
            {
                empty(StatusCode::ACCEPTED)
            }
            Ok(RpcMessage::Single(Member::Invalid(id))) => self.unfit(&Unfit::NoRequest, id, &context),
            Ok(RpcMessage::Batch(_)) | Err(Unreadable::EmptyBatch | Unreadable::BatchTooLarge { .. }) => {
                self.unfit(&Unfit::Batch, Id::NULL, &context)
            }
            Err(Unreadable::NotJson) => self.unfit(&Unfit::NotJson, Id::NULL, &context),
        }
    }

    /// The answer to a message that is refused as a whole.
    fn unfit(&self, unfit: &Unfit, id: Id<'_>, context: &RequestContext) -> Response<Body> {
        let (reply, status) = self.inner.unfit(unfit, id, context);
        let id = reply.request_id.as_ref().and_then(request_id);
        let mut response = bad(reply);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        if let Some(id) = id {
            response.headers_mut().insert(CALL_ID.clone(), id);
        }
        response
    }

    /// The answer to a request that is refused by itself, with the status that its era has for it.
    fn refuse(&self, parts: &Parts, unfit: &Unfit, id: Id<'_>, context: &RequestContext, era: Era) -> Response<Body> {
        self.respond(parts, self.inner.refuse(unfit, id, context), era)
    }

    fn not_allowed(&self, context: &RequestContext) -> Response<Body> {
        let mut response = self.unfit(&Unfit::Method, Id::NULL, context);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        response
    }

    /// The answer where there is no such session, or none of this caller's.
    fn no_session(&self, parts: &Parts, context: &RequestContext) -> Response<Body> {
        let refusal = Refusal::new(EngineCode::InvalidRequest)
            .with_http(404)
            .with_details(&json!({"header": "Mcp-Session-Id"}))
            .with_hint("Begin a session with `initialize`, without the header `Mcp-Session-Id`.");
        let envelope = self.inner.registry.refuse(refusal, context.request(b""));
        let says = "there is no such session; begin one with `initialize`";
        let mut reply = Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, Some(&envelope.to_bytes()));
        reply.request_id = Some(envelope.meta().request_id.clone());
        let mut response = self.respond(parts, reply, Era::Legacy);
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    }

    /// Answers a request, or takes a notification.
    async fn call(
        &self,
        parts: &Parts,
        call: &RpcCall<'_>,
        body: &Bytes,
        context: &RequestContext,
        session: Option<Arc<HttpSession>>,
    ) -> Response<Body> {
        let Some(id) = call.id else {
            return match (session, request_checks::notification(&parts.headers, &call.method)) {
                (Some(session), _) => {
                    session.notified(&self.inner, &call.method, call.params);
                    empty(StatusCode::ACCEPTED)
                }
                (None, Ok(())) => empty(StatusCode::ACCEPTED),
                (None, Err(unfit)) => self.refuse(parts, &unfit, Id::NULL, context, Era::Modern),
            };
        };
        if !request_checks::is_id(id) {
            return self.refuse(parts, &Unfit::Id, id, context, Era::Modern);
        }
        let Some(asked) = McpRequest::read(&call.method, call.params) else {
            return self.refuse(parts, &Unfit::params_of(&call.method), id, context, Era::Legacy);
        };
        let era = match request_checks::over_http(&parts.headers, &call.method, &asked) {
            Ok(era) => era,
            Err(unfit) => return self.refuse(parts, &unfit, id, context, Era::Modern),
        };
        // Before it takes a place: what calls nothing has no use for a key.
        if let Some(reply) = self.inner.needless_key(id, &asked, era, context) {
            return self.respond(parts, reply, era);
        }
        let channel =
            ClientChannel { session: session.as_deref().map(|session| &session.state), ..ClientChannel::default() };
        match (&asked, &session) {
            (asked, Some(session)) if asked.runs() => {
                let within = match self.admit(parts, session, id, asked, context) {
                    Ok(cancelled) => (Arc::clone(session), cancelled),
                    Err(refused) => return *refused,
                };
                return match self.open(parts, id, Some(asked), context) {
                    Ok(open) => {
                        let (message, context) = (body.clone(), context.clone());
                        let running = StreamableRequest { message, era, context, open, within: Some(within) };
                        Box::pin(self.run(parts, running)).await
                    }
                    Err(refused) => {
                        session.requests.ended(id.as_json());
                        *refused
                    }
                };
            }
            (asked, None) if asked.runs() && notifier(asked, era) && Accepts::of(&parts.headers) != Accepts::Json => {
                return match self.open(parts, id, Some(asked), context) {
                    Ok(open) => {
                        let (message, context) = (body.clone(), context.clone());
                        let running = StreamableRequest { message, era, context, open, within: None };
                        Box::pin(self.run(parts, running)).await
                    }
                    Err(refused) => *refused,
                };
            }
            (McpRequest::Initialize(params), None) => {
                if let Some(session) = self.begin(params, context) {
                    return self.begun(parts, id, &asked, context, &session).await;
                }
            }
            (McpRequest::Listen(params), _) if era == Era::Modern => {
                return Box::pin(self.listen(parts, id, params, &asked, context)).await;
            }
            _ => {}
        }
        let reply = self.inner.answer(id, &asked, era, context, channel).await;
        self.respond(parts, reply, era)
    }

    /// Tells who calls from the token, or refuses the whole request.
    async fn identify(&self, token: Option<&Secret>, context: &mut RequestContext) -> Result<(), Unidentified> {
        if self.inner.registry.identity().is_none() {
            return Ok(());
        }
        match token {
            Some(token) => {
                context.caller = Some(self.inner.registry.identify(token).await.map_err(Unidentified::Token)?);
                Ok(())
            }
            None if context.caller.is_none() && !self.options.anonymous => Err(Unidentified::NoToken),
            None => Ok(()),
        }
    }

    /// Refuses a whole request because of its token. The data of the error is what a call would have ended with.
    fn unidentified(&self, parts: &Parts, why: Unidentified, context: &RequestContext) -> Response<Body> {
        let valid = "the request needs a token that is valid";
        let sign_in = auth::sign_in(&self.options.authorization_servers);
        let (refusal, error, says, challenge) = match why {
            Unidentified::NoToken => {
                let refusal = Refusal::new(EngineCode::AuthRequired).with_hint(sign_in);
                (refusal, ProtocolError::InvalidRequest, valid, Some(Challenge::Missing))
            }
            // No other token would help, so none is asked for.
            Unidentified::Token(error @ IdentityError::Unavailable { .. }) => {
                (Refusal::unidentified(error), ProtocolError::Internal, "who calls cannot be told now", None)
            }
            Unidentified::Token(error) => {
                let refusal = Refusal::unidentified(error).with_hint(sign_in);
                (refusal, ProtocolError::InvalidRequest, valid, Some(Challenge::Invalid))
            }
        };
        let envelope = self.inner.registry.refuse(refusal, context.request(b""));
        let mut response = bad(Reply::error(Id::NULL, error, says, Some(&envelope.to_bytes())));
        let status = envelope.problem().and_then(|problem| StatusCode::from_u16(problem.http).ok());
        *response.status_mut() = status.unwrap_or(StatusCode::UNAUTHORIZED);
        if let Some(id) = request_id(&envelope.meta().request_id) {
            response.headers_mut().insert(CALL_ID.clone(), id);
        }
        match challenge {
            Some(challenge) => self.challenged(parts, challenge, response),
            None => response,
        }
    }

    fn respond(&self, parts: &Parts, reply: Reply, era: Era) -> Response<Body> {
        let Reply { body, ending, request_id } = reply;
        let mut response = Response::new(Either::Left(Full::new(body)));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, JSON);
        if let Some(id) = request_id.as_ref().and_then(self::request_id) {
            headers.insert(CALL_ID.clone(), id);
        }
        match ending {
            ReplyKind::Result => response,
            ReplyKind::Error(error) => {
                *response.status_mut() = status(error, era);
                response
            }
            ReplyKind::Malformed => {
                *response.status_mut() = StatusCode::BAD_REQUEST;
                response
            }
            ReplyKind::Unauthorized if self.metadata.is_some() => {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
                self.challenged(parts, Challenge::Missing, response)
            }
            ReplyKind::Forbidden(scopes) if self.metadata.is_some() => {
                *response.status_mut() = StatusCode::FORBIDDEN;
                self.challenged(parts, Challenge::Scopes(&scopes), response)
            }
            ReplyKind::Unauthorized | ReplyKind::Forbidden(_) => response,
        }
    }

    fn challenged(&self, parts: &Parts, why: Challenge<'_>, mut response: Response<Body>) -> Response<Body> {
        let challenge = self.metadata.as_ref().and_then(|metadata| metadata.challenge(&self.base(parts), why));
        if let Some(challenge) = challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// The address of the server, as the caller knows it.
    fn base(&self, parts: &Parts) -> String {
        match &self.options.server {
            Some(server) => server.trim_end_matches('/').to_owned(),
            None => {
                let scheme = if parts.extensions.get::<SentByTls>().is_some() { "https" } else { "http" };
                let authority = admission::authority(parts).unwrap_or_else(|| "localhost".to_owned());
                format!("{scheme}://{authority}")
            }
        }
    }
}

/// Why it is not known who sends a request.
enum Unidentified {
    NoToken,
    /// There is one, and this is why it tells nobody.
    Token(IdentityError),
}

/// Whether a request that stands on its own wants to be told something while it runs.
fn notifier(asked: &McpRequest<'_>, era: Era) -> bool {
    let wanted =
        |meta: &RequestMeta<'_>| meta.progress_token.is_some() || (era == Era::Modern && meta.log_level.is_some());
    asked.meta().is_some_and(wanted)
}

fn status(error: ProtocolError, era: Era) -> StatusCode {
    match (era, error) {
        // A request that was read is answered with 200 in the legacy era.
        (Era::Legacy, ProtocolError::MethodNotFound) => StatusCode::OK,
        (Era::Legacy | Era::Modern, error) => StatusCode::from_u16(error.http()).unwrap_or(StatusCode::BAD_REQUEST),
    }
}

fn bad(reply: Reply) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(reply.body)));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

fn request_id(id: &RequestId) -> Option<HeaderValue> {
    HeaderValue::from_maybe_shared(Bytes::from(String::from(id))).ok()
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::new())));
    *response.status_mut() = status;
    response
}

impl std::fmt::Debug for HttpFace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpFace").field("options", &self.options).finish_non_exhaustive()
    }
}
