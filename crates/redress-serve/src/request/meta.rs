//! What the headers of a message ask of its call.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header, request::Parts};
use redress_contract::{Caller, EngineCode, RequestId};
use redress_core::{Account, BatchOrder, Face, Refusal, Request, contained::ContainedSpan};
use redress_wire::{
    http::{
        OPERATION_JSON,
        header::{
            self as wire, A_DEADLINE, A_KEY, DEADLINE_MS, IDEMPOTENCY_KEY, LAST_EVENT_ID, REQUEST_ID, TRACEPARENT,
            TRACESTATE, TraceParent, correction, is_idempotency_key,
        },
    },
    mcp::header as mcp,
};
use serde_json::json;

use crate::{
    connection::{
        conn::PeerInfo,
        proxies::{self, Sent},
    },
    request::{
        bearer::Bearer,
        caller::Connection,
        page_origin::{self, FETCH_SITE, PageOrigin},
        service::FacesInner,
    },
};

/// The longest state of a trace that is passed on, as the standard asks for at least.
const LONGEST_STATE: usize = 512;

/// The headers that hold one value: of two, nobody knows which one the sender, or a proxy before us,
/// goes by. Those whose second value a standard has a word for
/// are not here, such as what MCP repeats of its message.
static ONCE: [(HeaderName, &str); 11] = [
    (header::AUTHORIZATION, "Authorization"),
    (header::CONTENT_TYPE, "Content-Type"),
    (header::ORIGIN, "Origin"),
    (header::SEC_WEBSOCKET_KEY, "Sec-WebSocket-Key"),
    (header::SEC_WEBSOCKET_VERSION, "Sec-WebSocket-Version"),
    (HeaderName::from_static(FETCH_SITE), "Sec-Fetch-Site"),
    (HeaderName::from_static(IDEMPOTENCY_KEY), "Idempotency-Key"),
    (HeaderName::from_static(DEADLINE_MS), "Redress-Deadline-Ms"),
    (HeaderName::from_static(LAST_EVENT_ID), "Last-Event-ID"),
    (HeaderName::from_static(mcp::PROTOCOL_VERSION), "MCP-Protocol-Version"),
    (HeaderName::from_static(mcp::SESSION_ID), "Mcp-Session-Id"),
];

/// What is wrong with the headers of a message.
#[derive(Clone, Copy, Debug)]
enum HeaderError {
    /// The value of this one, and what it has to be.
    Value(&'static str, &'static str),
    /// That there are two of this one.
    Twice(&'static str),
    /// That the body is encoded.
    Encoded,
}

/// Whom a message comes from, as far as its connection and its headers tell.
struct ClientOrigin {
    peer: Option<SocketAddr>,
    local: bool,
    secure: bool,
}

impl ClientOrigin {
    fn of(shared: &FacesInner, side: &PeerInfo, headers: &HeaderMap, forwarded: bool) -> ClientOrigin {
        let trusted = side.address.is_some_and(|address| shared.trusts(address.ip()));
        let sent = if trusted { proxies::sent(&shared.proxies, side.address, headers) } else { None };
        let Sent { by, secure } = sent.unwrap_or(Sent { by: side.address, secure: side.secure });
        ClientOrigin { peer: by, local: side.local && !trusted && !forwarded, secure }
    }

    fn caller(
        &self,
        shared: &FacesInner,
        side: &PeerInfo,
        headers: &HeaderMap,
        page: PageOrigin,
    ) -> Option<Arc<Caller>> {
        let ClientOrigin { peer, local, secure } = *self;
        // Whose machine or certificate it is says nothing about who wrote the page that uses it.
        let acts = page.acts_as_visitor();
        let local = local && acts && page_origin::is_own_name(headers);
        let certificate = side.certificate.as_deref().filter(|_| acts);
        shared.caller.caller_of(Connection { peer, local, secure, certificate, headers })
    }
}

/// The message that opened a connection for many calls.
#[derive(Debug)]
pub(crate) struct Handshake {
    forwarded: bool,
    headers: HeaderMap,
}

impl Handshake {
    /// Who calls by the rules of `shared`, as it is now.
    pub(crate) fn caller(&self, shared: &FacesInner, side: &PeerInfo) -> Option<Arc<Caller>> {
        let sender = ClientOrigin::of(shared, side, &self.headers, self.forwarded);
        let page = shared.origins.page(&self.headers, sender.secure);
        sender.caller(shared, side, &self.headers, page)
    }
}

/// The span of a message that belongs to its caller's trace. What makes traces of spans finds the
/// caller's by these fields.
macro_rules! span_of {
    ($name:literal, $trace:expr, $state:expr) => {{
        let trace: TraceParent<'_> = $trace;
        ContainedSpan::new(|| {
            tracing::info_span!(
                $name,
                trace_id = trace.trace_id,
                parent_span_id = trace.parent_id,
                sampled = trace.sampled,
                tracestate = $state.filter(|state: &&str| state.len() <= LONGEST_STATE),
            )
        })
    }};
}

/// The trace that a connection was opened in, for those of its messages that bring none.
#[derive(Debug)]
pub(crate) struct Trace {
    parent: Box<str>,
    state: Option<Box<str>>,
}

impl Trace {
    /// What the headers say of it, if they do.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Trace> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let parent = text(TRACEPARENT).filter(|parent| TraceParent::read(parent).is_some())?;
        Some(Trace { parent: parent.into(), state: text(TRACESTATE).map(Box::from) })
    }

    /// The span of a message on a WebSocket that says this of its trace; of the connection's, where it says
    /// nothing that can be read.
    pub(crate) fn of_message(
        parent: Option<&str>,
        state: Option<&str>,
        connection: Option<&Trace>,
    ) -> Option<ContainedSpan> {
        if let Some(parent) = parent.and_then(TraceParent::read) {
            return Some(span_of!("redress.websocket", parent, state));
        }
        let connection = connection?;
        Some(span_of!("redress.websocket", TraceParent::read(&connection.parent)?, connection.state.as_deref()))
    }
}

/// What the headers of a message ask of its call.
#[derive(Debug, Default)]
pub(crate) struct HttpRequestMeta {
    /// The address of the caller, where it is known.
    pub(crate) peer: Option<SocketAddr>,
    /// Whether the message came through a proxy, or says so.
    forwarded: bool,
    /// Whether a browser says where the page is that it comes from.
    of_browser: bool,
    /// The web page that it comes from.
    pub(crate) page: PageOrigin,
    /// Whether the caller has sent it by TLS, to us or to a proxy that we trust.
    #[cfg(feature = "mcp")]
    pub(crate) secure: bool,
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) token: Option<Bearer>,
    pub(crate) request_id: Option<Box<str>>,
    deadline: Option<Duration>,
    key: Option<Arc<str>>,
    pub(crate) last_event_id: Option<Arc<str>>,
    pub(crate) trace: Option<ContainedSpan>,
    /// What the answer is charged to.
    pub(crate) account: Option<Account>,
    /// Whether the body claims to be JSON; nothing, if it claims nothing.
    json: Option<bool>,
    pub(crate) html: bool,
    pub(crate) declaration: bool,
    /// Whether it wants a stream of events.
    pub(crate) events: bool,
    wrong: Option<HeaderError>,
}

impl HttpRequestMeta {
    /// Reads the headers once. What is wrong with them is told by [`check`](HttpRequestMeta::check).
    pub(crate) fn of(shared: &FacesInner, side: &PeerInfo, parts: &Parts) -> HttpRequestMeta {
        let headers = &parts.headers;
        // No client of today speaks HTTP/1.0, but proxies do that say nothing of themselves.
        let mut meta = HttpRequestMeta { forwarded: parts.version < Version::HTTP_11, ..HttpRequestMeta::default() };
        meta.read(headers, shared.registry.identity().is_some());
        let sender = ClientOrigin::of(shared, side, headers, meta.forwarded);
        meta.peer = sender.peer;
        #[cfg(feature = "mcp")]
        {
            meta.secure = sender.secure;
        }
        if meta.of_browser {
            meta.page = shared.origins.page(headers, sender.secure);
        }
        if meta.token.is_none() {
            meta.caller = sender.caller(shared, side, headers, meta.page);
        }
        meta
    }

    /// What is kept of a message that opens a connection for many calls, to ask again at each of them who calls.
    /// Nothing, where a token tells it.
    pub(crate) fn handshake(&self, headers: &HeaderMap) -> Option<Handshake> {
        if self.token.is_some() {
            return None;
        }
        // Copied out of the buffer of the whole message, which the connection would hold to its end otherwise.
        let copy = |value: &HeaderValue| HeaderValue::from_bytes(value.as_bytes()).ok();
        let told = |name: &HeaderName| {
            !matches!(*name, header::UPGRADE | header::CONNECTION) && !name.as_str().starts_with("sec-websocket-")
        };
        let kept = headers.iter().filter(|(name, _)| told(name));
        let headers = kept.filter_map(|(name, value)| Some((name.clone(), copy(value)?))).collect();
        Some(Handshake { forwarded: self.forwarded, headers })
    }

    fn read(&mut self, headers: &HeaderMap, tokens: bool) {
        let (mut parent, mut state) = (None, None);
        for (name, value) in headers {
            match *name {
                header::CONTENT_TYPE => self.json = Some(is_json(value.as_bytes())),
                header::CONTENT_ENCODING if value != "identity" => self.wrong = Some(HeaderError::Encoded),
                header::ORIGIN => self.of_browser = true,
                header::ACCEPT => {
                    let accept = value.to_str().unwrap_or_default();
                    self.html |= accept.contains("text/html");
                    self.declaration |= accept.contains(OPERATION_JSON);
                    self.events |= accept.contains("text/event-stream");
                }
                header::FORWARDED | header::VIA => self.forwarded = true,
                header::AUTHORIZATION if tokens => self.token = Bearer::of(value),
                _ => match name.as_str() {
                    REQUEST_ID => {
                        let given = value.to_str().ok().filter(|id| RequestId::given(id).is_some());
                        self.request_id = given.map(Box::from);
                    }
                    IDEMPOTENCY_KEY => match value.to_str().ok().filter(|key| is_idempotency_key(key)) {
                        Some(key) => self.key = Some(key.into()),
                        None => self.wrong = Some(HeaderError::Value("Idempotency-Key", A_KEY)),
                    },
                    DEADLINE_MS => match value.to_str().ok().and_then(deadline) {
                        Some(deadline) => self.deadline = Some(deadline),
                        None => self.wrong = Some(HeaderError::Value("Redress-Deadline-Ms", A_DEADLINE)),
                    },
                    FETCH_SITE => self.of_browser = true,
                    LAST_EVENT_ID => self.last_event_id = value.to_str().ok().map(Arc::from),
                    TRACEPARENT => parent = value.to_str().ok().and_then(TraceParent::read),
                    TRACESTATE => state = value.to_str().ok(),
                    other => self.forwarded |= proxies::is_added(other),
                },
            }
        }
        // Most messages have no header twice, and are looked through no further.
        if headers.len() > headers.keys_len() {
            let twice = |name: &HeaderName| headers.get_all(name).iter().nth(1).is_some();
            if let Some((_, shown)) = ONCE.iter().find(|(name, _)| twice(name)) {
                self.wrong = Some(HeaderError::Twice(shown));
            }
            if twice(&HeaderName::from_static(REQUEST_ID)) {
                self.request_id = None;
            }
            if twice(&HeaderName::from_static(TRACEPARENT)) {
                parent = None;
            }
        }
        self.trace = parent.map(|parent| span_of!("redress.http", parent, state));
    }

    /// Refuses a message whose headers cannot be honoured: a deadline or a key that is let
    /// be would be a promise broken in silence.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let refuse = |header: &str, expected: &str| {
            Refusal::new(EngineCode::InvalidRequest).with_details(&json!({"header": header, "expected": expected}))
        };
        match self.wrong {
            None => Ok(()),
            Some(HeaderError::Value(header, expected)) => {
                Err(refuse(header, expected).with_hint(correction(expected, &format!("in the header `{header}`"))))
            }
            Some(HeaderError::Twice(header)) => {
                Err(refuse(header, "once").with_hint(format!("Send the header `{header}` once.")))
            }
            Some(HeaderError::Encoded) => Err(refuse("Content-Encoding", "identity")
                .with_http(415)
                .with_hint("Send the body as it is, without `Content-Encoding`.")),
        }
    }

    /// Refuses a body that does not claim to be JSON. One that claims nothing is taken, but not of
    /// a page of elsewhere: a browser sends that without asking, and JSON only where it may.
    pub(crate) fn check_json(&self) -> Result<(), Refusal> {
        if self.json.unwrap_or_else(|| self.page.acts_as_visitor()) {
            return Ok(());
        }
        Err(Refusal::new(EngineCode::InvalidRequest)
            .with_http(415)
            .with_details(&json!({"header": "Content-Type", "expected": "application/json"}))
            .with_hint("Send JSON, and say so: `Content-Type: application/json`."))
    }

    /// The call with this input.
    pub(crate) fn request<'a>(&self, shared: &FacesInner, input: &'a [u8]) -> Request<'a> {
        let Some(token) = &self.token else { return self.request_of(shared, input, self.caller.clone()) };
        match shared.registry.known(token.expose()) {
            None => self.request_of(shared, input, None).with_token(token.secret()),
            known => self.request_of(shared, input, known),
        }
    }

    /// The call with this input, of a caller that is known already.
    pub(crate) fn request_of<'a>(
        &self,
        shared: &FacesInner,
        input: &'a [u8],
        caller: Option<Arc<Caller>>,
    ) -> Request<'a> {
        let mut request =
            Request::new(input).with_face(Face::Http).with_cancellation(shared.server_state.shutdown.over().clone());
        if let Some(id) = &self.request_id {
            request = request.with_request_id(id);
        }
        if let Some(peer) = self.peer {
            request = request.with_peer(peer.ip());
        }
        if let Some(caller) = caller {
            request = request.with_caller(caller);
        } else if let Some(hint) = shared.sign_in() {
            request = request.with_sign_in(hint);
        }
        if let Some(deadline) = self.deadline {
            request = request.with_deadline(deadline);
        }
        if let Some(key) = &self.key {
            request = request.with_idempotency_key(Arc::clone(key));
        }
        if let Some(account) = &self.account {
            request = request.with_account(account.clone());
        }
        request
    }

    /// The call of one member of a batch. Id and key are made the member's own: two calls of
    /// one name could not be told apart, and one key for all would make them conflict.
    pub(crate) fn member<'a>(
        &self,
        shared: &FacesInner,
        order: &Arc<BatchOrder>,
        place: usize,
        input: &'a [u8],
    ) -> Request<'a> {
        let mut request = self.request(shared, input);
        if let Some(account) = &self.account {
            request = request.with_account(account.member(order, place));
        }
        if let Some(id) = &self.request_id {
            request = request.with_request_id(&format!("{id}:{place}"));
        }
        if let Some(key) = &self.key {
            request = request.with_idempotency_key(format!("{key}:{place}"));
        }
        request
    }

    /// What the MCP face is told of the request beside its message.
    #[cfg(feature = "mcp")]
    pub(crate) fn for_mcp(&self, shared: &FacesInner) -> redress_mcp::RequestContext {
        redress_mcp::RequestContext {
            caller: self.caller.clone(),
            peer: self.peer.map(|peer| peer.ip()),
            request_id: self.request_id.as_deref().map(Arc::from),
            deadline: self.deadline,
            idempotency_key: self.key.clone(),
            session_id: None,
            sign_in: if self.caller.is_none() { shared.sign_in() } else { None },
            cancellation: Some(shared.server_state.shutdown.over().clone()),
            trace: self.trace.clone(),
            account: self.account.clone(),
            room: None,
        }
    }

    /// The caller's own id, for an answer that stands for several calls.
    pub(crate) fn own_id(&self) -> Option<HeaderValue> {
        self.request_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok())
    }

    /// What a message that does not become a call is known by.
    pub(crate) fn bare(&self) -> Request<'static> {
        match &self.request_id {
            Some(id) => Request::default().with_request_id(id),
            None => Request::default(),
        }
    }
}

fn deadline(text: &str) -> Option<Duration> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let ms: u64 = if digits { text.parse().ok()? } else { return None };
    wire::deadline(ms)
}

/// `application/json` and its kin: `text/json`, and everything that ends in `+json`.
fn is_json(media: &[u8]) -> bool {
    if media == b"application/json" {
        return true;
    }
    let essence = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
    matches!(&*essence, b"application/json" | b"text/json") || essence.ends_with(b"+json")
}
