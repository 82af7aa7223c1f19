//! The face over HTTP: what may come in, and which way it takes.

mod admission;
mod places;
mod sessions;

use std::{convert::Infallible, sync::Arc};

use ::http::{HeaderValue, Method, Response, StatusCode, header, header::HeaderName, request::Parts};
use bytes::Bytes;
use http_body::Body as HttpBody;
use http_body_util::{BodyExt as _, Either, Full, Limited, combinators::BoxBody};
use redress_contract::{EngineCode, RequestId};
use redress_core::{Refusal, Secret};
use redress_wire::{
    http::header::REQUEST_ID,
    jsonrpc::{self, Call, Id, Member, Message, Unreadable},
    mcp::{Era, ProtocolError, RequestMeta, header as mcp_header},
};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    Asking, Mcp, Metadata,
    asked::Asked,
    auth::Challenge,
    bridge::Bridge,
    checks,
    mcp::Inner,
    owner::Owner,
    reply::{Ending, Reply},
    way::Way,
};
use places::Open;
pub use places::{Place, Places};
pub(crate) use sessions::Belongings;
use sessions::Sessions;

/// The body of an answer.
pub type Body = Either<Full<Bytes>, BoxBody<Bytes, Infallible>>;

static CALL_ID: HeaderName = HeaderName::from_static(REQUEST_ID);
static SESSION: HeaderName = HeaderName::from_static(mcp_header::SESSION_ID);
/// How many bytes a client that gets a session may say of itself.
const LARGEST_HELLO: usize = 16 * 1024;
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
    /// Who counts what each caller holds open: every session, and every answer that is a stream.
    /// Without it, nobody does.
    pub places: Option<Arc<dyn Places>>,
    /// What ends every stream that is still open.
    pub shutdown: CancellationToken,
    /// Whether requests that stand on their own are answered straight from the call path; if
    /// not, all go through the protocol's library.
    pub direct: bool,
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
            places: None,
            shutdown: CancellationToken::new(),
            direct: true,
        }
    }
}

/// What a request is marked with, among its extensions, that the client has sent by TLS.
#[derive(Clone, Copy, Debug)]
pub struct Secure;

/// What a request is marked with, among its extensions, by a server that judges on every face which web pages may
/// call. One that is not marked is judged here: it may come of no page, or of one of this very server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// It comes of no page, or of one that may call.
    Admitted,
    /// It comes of a page that may not, unless [`HttpOptions::allowed_origins`] has it.
    Foreign,
}

/// The face over HTTP.
#[derive(Clone)]
pub struct HttpFace {
    inner: Arc<Inner>,
    bridge: Bridge,
    sessions: Arc<Sessions>,
    /// The streams of changes that there may still be.
    listening: Arc<Semaphore>,
    options: HttpOptions,
    metadata: Option<Metadata>,
}

impl HttpFace {
    pub(crate) fn new(mcp: &Mcp, options: HttpOptions) -> HttpFace {
        let inner = Arc::clone(&mcp.0);
        let metadata = inner
            .registry
            .identity()
            .map(|_| Metadata::new(&inner.options.name, options.authorization_servers.clone(), &inner.registry));
        let listening = Arc::new(Semaphore::new(options.max_sessions.min(Semaphore::MAX_PERMITS)));
        let (bridge, sessions) = (Bridge::new(&inner, &options), Arc::default());
        HttpFace { bridge, sessions, listening, inner, options, metadata }
    }

    /// The document about the protected resource, where tokens tell who calls.
    pub fn metadata(&self, parts: &Parts) -> Option<Vec<u8>> {
        self.metadata.as_ref().map(|metadata| metadata.document(&self.base(parts)))
    }

    /// Answers one message. `token` is the bearer token that came with it.
    pub async fn answer<B>(&self, parts: Parts, body: B, token: Option<Secret>, mut asking: Asking) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if let Err(says) = admission::admit(&self.options, &parts) {
            return refuse(StatusCode::FORBIDDEN, ProtocolError::InvalidRequest, says);
        }
        let session = match checks::session(&parts.headers) {
            Ok(session) => session.map(Box::<str>::from),
            Err(reply) => return bad(reply),
        };
        if let Err(why) = self.identify(token, &mut asking).await {
            return self.unidentified(&parts, why, &asking);
        }
        // Before anything else is looked at, so that nothing tells a session of another from none.
        if let Some(name) = &session
            && !self.sessions.has(name, &Owner::of(&asking))
        {
            return self.no_session(&parts, &asking);
        }
        if parts.method != Method::POST {
            let open = match (&parts.method, &session) {
                (&Method::GET, Some(_)) => self.open(&parts, Id::NULL, None, &asking),
                (&Method::DELETE, Some(_)) => Ok(Open::default()),
                _ => return not_allowed(),
            };
            let open = match open {
                Ok(open) => open,
                Err(refused) => return *refused,
            };
            let ends = session.filter(|_| parts.method == Method::DELETE);
            let answer = self.bridge.session(parts, Bytes::new(), asking).await;
            if let Some(name) = ends.filter(|_| answer.status().is_success()) {
                self.sessions.ended(&name);
            }
            return open.keep(answer);
        }
        if let Err((status, says)) = admission::negotiate(&parts.headers) {
            return refuse(status, ProtocolError::InvalidRequest, says);
        }
        let body = match Limited::new(body, self.options.max_body).collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => {
                let says = "the message is larger than is taken";
                return refuse(StatusCode::PAYLOAD_TOO_LARGE, ProtocolError::InvalidRequest, says);
            }
        };
        if session.is_some() {
            return match self.open_in_session(&parts, &body, &asking) {
                Ok(open) => open.keep(self.bridge.session(parts, body, asking).await),
                Err(refused) => *refused,
            };
        }
        match jsonrpc::read(&body, 1) {
            Ok(Message::Single(Member::Call(call))) => {
                let lane = self.lane(&parts, &call, &asking).await;
                match lane {
                    Lane::Answered(reply, era) => self.respond(&parts, reply, era),
                    Lane::Session(place) => self.begin(parts, body, asking, place).await,
                    Lane::Stateless(Ok(open)) => open.keep(self.bridge.stateless(parts, body, asking).await),
                    Lane::Stateless(Err(refused)) => *refused,
                    Lane::Nothing => empty(StatusCode::ACCEPTED),
                }
            }
            Ok(Message::Single(Member::Invalid(id))) => {
                bad(Reply::error(id, ProtocolError::InvalidRequest, "the message is no request", None))
            }
            Ok(Message::Batch(_)) | Err(Unreadable::EmptyBatch | Unreadable::BatchTooLarge { .. }) => {
                let says = "a message holds one request; batches are not part of the protocol";
                bad(Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, None))
            }
            Err(Unreadable::NotJson) => {
                bad(Reply::error(Id::NULL, ProtocolError::Parse, "the message is not JSON", None))
            }
        }
    }

    /// Opens a session, which is its caller's from the first on.
    async fn begin(&self, mut parts: Parts, body: Bytes, asking: Asking, place: Option<Place>) -> Response<Body> {
        let belongings = Belongings::new(Owner::of(&asking), place);
        parts.extensions.insert(Arc::clone(&belongings));
        let begun = self.bridge.session(parts, body, asking).await;
        if let Some(name) = begun.headers().get(&SESSION).and_then(|name| name.to_str().ok()) {
            self.sessions.opened(name, &belongings);
        }
        begun
    }

    /// The answer where there is no such session, or none of this caller's.
    fn no_session(&self, parts: &Parts, asking: &Asking) -> Response<Body> {
        let refusal = Refusal::new(EngineCode::InvalidRequest)
            .with_http(404)
            .with_details(&json!({"header": "Mcp-Session-Id"}))
            .with_hint("Begin a session with `initialize`, without the header `Mcp-Session-Id`.");
        let envelope = self.inner.registry.refuse(refusal, asking.request(b""));
        let says = "there is no such session; begin one with `initialize`";
        let mut reply = Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, Some(&envelope.to_bytes()));
        reply.request_id = Some(envelope.meta().request_id.clone());
        let mut response = self.respond(parts, reply, Era::Legacy);
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    }

    /// Leads a message: to its answer, or to where it is answered.
    async fn lane(&self, parts: &Parts, call: &Call<'_>, asking: &Asking) -> Lane {
        let Some(id) = call.id else {
            return match checks::notification(&parts.headers, &call.method) {
                Ok(()) => Lane::Nothing,
                Err(reply) => Lane::Answered(reply, Era::Modern),
            };
        };
        if !checks::is_id(id) {
            let says = "an id is a string or a whole number";
            return Lane::Answered(Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, None), Era::Modern);
        }
        let asked = Asked::read(&call.method, call.params);
        if !self.options.direct {
            return Lane::Stateless(self.open(parts, id, asked.as_ref(), asking));
        }
        let Some(asked) = asked else {
            return Lane::Answered(checks::unreadable(id, &call.method), Era::Legacy);
        };
        let era = match checks::over_http(id, &parts.headers, &call.method, &asked) {
            Ok(era) => era,
            Err(reply) => return Lane::Answered(reply, Era::Modern),
        };
        // Before it is led elsewhere: what calls nothing has no use for a key.
        if let Some(reply) = self.inner.needless_key(id, &asked, era, asking) {
            return Lane::Answered(reply, era);
        }
        if asked.runs() {
            let wanted = |meta: &RequestMeta<'_>| meta.progress_token.is_some() || meta.log_level.is_some();
            let told = asked.meta().is_some_and(wanted) || checks::is_encoded(&parts.headers);
            if told && !self.denied(&asked, asking) {
                return Lane::Stateless(self.open(parts, id, Some(&asked), asking));
            }
        } else if let Asked::Initialize(params) = &asked {
            // Only a client that can be asked something while it waits needs a session, in which what it says of
            // itself is kept.
            if params.client_can().any()
                && call.params.len() <= LARGEST_HELLO
                && self.bridge.sessions().await < self.options.max_sessions
                && let Ok(place) = self.place(asking)
            {
                return Lane::Session(place);
            }
        } else if matches!(asked, Asked::Listen(_)) && era == Era::Modern {
            return Lane::Stateless(self.open(parts, id, Some(&asked), asking));
        }
        Lane::Answered(self.inner.answer(id, &asked, era, asking, Way::default()).await, era)
    }

    /// Whether the caller may not call what is asked for. It is told so under a status, which the
    /// protocol's library has no say in.
    fn denied(&self, asked: &Asked<'_>, asking: &Asking) -> bool {
        let Asked::Call(params) = asked else { return false };
        let entry = self.inner.catalogue.find(&params.name);
        entry.is_some_and(|entry| entry.access().admit(asking.caller()).is_err())
    }

    /// Tells who calls from the token, or refuses the whole request.
    async fn identify(&self, token: Option<Secret>, asking: &mut Asking) -> Result<(), Challenge<'static>> {
        if self.inner.registry.identity().is_none() {
            return Ok(());
        }
        match token {
            Some(token) => {
                asking.caller = Some(self.inner.registry.identify(&token).await.map_err(|_| Challenge::Invalid)?);
                Ok(())
            }
            None if asking.caller.is_none() && !self.options.anonymous => Err(Challenge::Missing),
            None => Ok(()),
        }
    }

    /// Refuses a whole request because of its token. The data of the error is what a call would have ended with.
    fn unidentified(&self, parts: &Parts, why: Challenge<'_>, asking: &Asking) -> Response<Body> {
        let refusal = match why {
            Challenge::Invalid => Refusal::bad_token(),
            Challenge::Missing | Challenge::Scopes(_) => Refusal::new(EngineCode::AuthRequired),
        };
        let envelope = self.inner.registry.refuse(refusal, asking.request(b""));
        let says = "the request needs a token that is valid";
        let reply = Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, Some(&envelope.to_bytes()));
        let mut response = bad(reply);
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        if let Some(id) = request_id(&envelope.meta().request_id) {
            response.headers_mut().insert(CALL_ID.clone(), id);
        }
        self.challenged(parts, why, response)
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
            Ending::Result => response,
            Ending::Error(error) => {
                *response.status_mut() = status(error, era);
                response
            }
            Ending::Malformed => {
                *response.status_mut() = StatusCode::BAD_REQUEST;
                response
            }
            Ending::Unauthorized if self.metadata.is_some() => {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
                self.challenged(parts, Challenge::Missing, response)
            }
            Ending::Forbidden(scopes) if self.metadata.is_some() => {
                *response.status_mut() = StatusCode::FORBIDDEN;
                self.challenged(parts, Challenge::Scopes(&scopes), response)
            }
            Ending::Unauthorized | Ending::Forbidden(_) => response,
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
                let scheme = if parts.extensions.get::<Secure>().is_some() { "https" } else { "http" };
                let authority = admission::authority(parts).unwrap_or_else(|| "localhost".to_owned());
                format!("{scheme}://{authority}")
            }
        }
    }
}

/// Which way a message takes.
enum Lane {
    /// It is answered.
    Answered(Reply, Era),
    /// It opens a session, which holds this.
    Session(Option<Place>),
    /// It goes through the protocol's library, on its own, if there is a place for its answer.
    Stateless(Result<Open, Box<Response<Body>>>),
    /// It wants no answer.
    Nothing,
}

fn status(error: ProtocolError, era: Era) -> StatusCode {
    match (era, error) {
        // A request that was read is answered with 200 in the legacy era.
        (Era::Legacy, ProtocolError::MethodNotFound) => StatusCode::OK,
        (Era::Legacy | Era::Modern, error) => StatusCode::from_u16(error.http()).unwrap_or(StatusCode::BAD_REQUEST),
    }
}

/// The answer to what is not even read.
fn refuse(status: StatusCode, error: ProtocolError, says: &str) -> Response<Body> {
    let mut response = bad(Reply::error(Id::NULL, error, says, None));
    *response.status_mut() = status;
    response
}

fn bad(reply: Reply) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(reply.body)));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

fn not_allowed() -> Response<Body> {
    let mut response =
        refuse(StatusCode::METHOD_NOT_ALLOWED, ProtocolError::InvalidRequest, "messages are sent with POST");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
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
