//! One message on a connection, led to its route.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    net::{IpAddr, SocketAddr},
    ops::Deref,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use arc_swap::ArcSwap;
use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{HeaderValue, Method, StatusCode, Version, header, request::Parts},
    response::Response,
};
use http_body::Body as _;
use redress_contract::{EngineCode, Envelope};
use redress_core::{
    Refusal, Registry,
    contained::poll_contained,
    offload::{LARGE, offload_future},
};
use redress_wire::http::{Info, header::REQUEST_ID};
use serde_json::{Value, json};
use tower::Service;

use crate::{
    Network, ServerLimits,
    connection::{
        conn::{ConnContext, PeerInfo},
        server_state::ServerState,
    },
    faces::{Ready, ReadyDetails},
    request::{
        body::{self, BodyError, CollectedBody},
        body_budget::{self, BodyBudget, BodyBudgetLimits, BodyReservation, BodySource},
        caller::CallerOf,
        cors::{self, Origins},
        framing,
        meta::HttpRequestMeta,
        response,
    },
    routes::{
        self,
        document_cache::DocumentCache,
        metrics::{self, MetricsSource},
        table::{Methods, Route, RouteRow},
    },
    ws::WebSockets,
};

/// What all connections share.
pub(crate) struct FacesInner {
    pub(crate) registry: Registry,
    /// Whether any operation is deprecated, so that the others need not be looked at.
    pub(crate) has_deprecated: bool,
    pub(crate) caller: Arc<dyn CallerOf>,
    pub(crate) info: Info,
    pub(crate) max_body: usize,
    pub(crate) max_batch: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) grace: Duration,
    pub(crate) limits: ServerLimits,
    pub(crate) origins: Origins,
    pub(crate) proxies: Arc<[Network]>,
    #[cfg(feature = "compression")]
    pub(crate) compression: bool,
    pub(crate) ready: Option<Ready>,
    pub(crate) ready_details: Option<ReadyDetails>,
    pub(crate) documents: DocumentCache,
    pub(crate) server_state: Arc<ServerState>,
    pub(crate) web_sockets: WebSockets,
    pub(crate) metrics: Option<MetricsSource>,
    #[cfg(feature = "mcp")]
    pub(crate) mcp: Option<redress_mcp::HttpFace>,
}

/// The faces as a service inside another router.
#[derive(Clone)]
pub(crate) struct FacesService {
    pub(crate) served: Arc<ArcSwap<FacesInner>>,
}

/// One message, with all that its answer may depend on.
pub(crate) struct Exchange {
    pub(crate) shared: Arc<FacesInner>,
    pub(crate) line: Arc<ConnContext>,
    pub(crate) meta: HttpRequestMeta,
    pub(crate) parts: Parts,
}

impl FacesInner {
    /// Whether calls can be kept as they have to be, and the program says nothing against it.
    pub(crate) fn is_ready(&self) -> bool {
        self.registry.is_ready() && self.ready.as_ref().is_none_or(|ready| ready())
    }

    /// What somebody who is not known can do to be; nothing where a token would do.
    pub(crate) fn sign_in(&self) -> Option<&'static str> {
        if self.registry.identity().is_some() { None } else { self.caller.sign_in() }
    }

    /// Answers one message. Whatever panics on the way, there is an answer.
    pub(crate) async fn answer(
        self: Arc<FacesInner>,
        line: Arc<ConnContext>,
        request: axum::extract::Request,
    ) -> Response {
        let (asked, own_id) = (request.uri().clone(), request.headers().get(REQUEST_ID).cloned());
        let shared = Arc::clone(&self);
        let mut answered = pin!(self.answer_routed(line, request));
        poll_fn(|cx| poll_contained(answered.as_mut(), cx)).await.unwrap_or_else(|payload| {
            let mut bare = redress_core::Request::default();
            if let Some(id) = own_id.as_ref().and_then(|id| id.to_str().ok()) {
                bare = bare.with_request_id(id);
            }
            let mut response = refused_at(asked.path(), shared.registry.lost(&*payload, bare));
            response::forbid_sniffing(&mut response);
            response
        })
    }

    async fn answer_routed(self: Arc<FacesInner>, line: Arc<ConnContext>, request: axum::extract::Request) -> Response {
        let (parts, body) = request.into_parts();
        let page = (!self.origins.is_empty()).then(|| (self.origins.of(&parts), cors::is_preflight(&parts)));
        #[cfg(feature = "compression")]
        let accepted = self.compression.then(|| crate::request::compression::accepted(&parts.headers)).flatten();
        let mut meta = HttpRequestMeta::of(&self, &line.side, &parts);
        let many = parts.version == Version::HTTP_2;
        meta.account = Some(if many { line.account_of_many.clone() } else { line.account.clone() });
        let trace = meta.trace.clone();
        let large = may_be_large(&parts, &body);
        let exchange = Exchange { shared: self, line, meta, parts };
        let mut response = match trace {
            // What reads a large message may be a library, and borrows from it all the way to its answer.
            trace if large => {
                let span = trace.unwrap_or_default();
                Box::pin(offload_future(span.instrument(exchange.answer(body)))).await
            }
            None => exchange.answer(body).await,
            Some(span) => span.instrument(exchange.answer(body)).await,
        };
        response::forbid_sniffing(&mut response);
        if let Some((origin, preflight)) = page {
            cors::tell(origin, preflight, &mut response);
        }
        #[cfg(feature = "compression")]
        if let Some(accepted) = accepted {
            response = crate::request::compression::compress(accepted, response).await;
            crate::request::etag::encoded(&mut response);
        }
        response
    }

    /// Refuses a message that could be read in two ways. On HTTP/1.1 whatever follows it could be too.
    pub(crate) fn misframed(&self, refusal: Refusal, request: &axum::extract::Request) -> Response {
        let envelope = self.registry.refuse(refusal, redress_core::Request::default());
        let mut response = refused_at(request.uri().path(), envelope);
        response::forbid_sniffing(&mut response);
        if request.version() != Version::HTTP_2 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Refuses a message whose body, of `max` bytes, could not be read.
    pub(crate) fn unread(&self, unread: BodyError, max: usize) -> Refusal {
        match unread {
            BodyError::TooLarge => Refusal::new(EngineCode::PayloadTooLarge).with_details(&json!({"limit_bytes": max})),
            BodyError::TooSlow => self.too_slow(),
            BodyError::NoRoom => {
                self.server_state.counters.refused_bodies.up();
                Refusal::new(EngineCode::Overloaded)
                    .with_details(&json!({"limit": "body_bytes"}))
                    .with_retry_after_ms(1000)
            }
            BodyError::Broken => Refusal::new(EngineCode::InvalidRequest)
                .with_details(&json!({"expected": "a whole body"}))
                .with_hint("Send the body whole, as its headers announce it."),
        }
    }

    fn too_slow(&self) -> Refusal {
        self.server_state.counters.slow_bodies.up();
        let body_ms = u64::try_from(self.limits.body_time.as_millis()).unwrap_or(u64::MAX);
        Refusal::new(EngineCode::Timeout)
            .with_http(StatusCode::REQUEST_TIMEOUT.as_u16())
            .with_details(&json!({"body_ms": body_ms}))
            .with_hint("Send the whole body sooner; nothing of the call has run.")
    }

    /// How many bytes of bodies may be held.
    pub(crate) fn most_of_bodies(&self) -> BodyBudgetLimits {
        let ServerLimits { body_bytes, body_bytes_per_address, .. } = self.limits;
        let one = self.max_body.saturating_add(body_budget::STEP);
        BodyBudgetLimits { all: body_bytes.max(one), by_address: body_bytes_per_address.max(one) }
    }

    /// Whether the word of a proxy at this address counts.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.holds(address))
    }
}

impl Service<axum::extract::Request> for FacesService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: axum::extract::Request) -> Self::Future {
        let framed = framing::check_said(&mut request);
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
        let side = peer.map(PeerInfo::at).unwrap_or_default();
        let shared = self.served.load_full();
        let account = shared.server_state.budget.connection();
        let line = Arc::new(ConnContext::new(Arc::clone(&self.served), side, &account, None));
        Box::pin(async move {
            Ok(match framed {
                Ok(()) => shared.answer(line, request).await,
                Err(refusal) => shared.misframed(refusal, &request),
            })
        })
    }
}

impl Exchange {
    async fn answer(self, body: Body) -> Response {
        let Some(RouteRow { methods, route, .. }) = RouteRow::of(self.parts.uri.path()) else { return self.nowhere() };
        let method = &self.parts.method;
        if !methods.hold(method) {
            return if *method == Method::OPTIONS { options(*methods) } else { self.not_allowed(*methods) };
        }
        let posts = *method == Method::POST;
        match route {
            Route::Operation if posts => routes::operation(self, body).await,
            Route::Operation => routes::operation_read(self).await,
            Route::Rpc => routes::rpc(self, body).await,
            Route::Call => routes::call(self, body).await,
            Route::Batch => routes::batch(self, body).await,
            Route::Subscribe => routes::subscribe(self, body).await,
            Route::Operations => routes::operations(self).await,
            Route::Document => routes::document(self).await,
            Route::Errors => routes::errors(self).await,
            Route::Home => routes::home(self).await,
            Route::Health => routes::health(),
            Route::Ready => self.ready(),
            Route::Metrics => metrics::metrics(self).await,
            Route::WebSocket => routes::web_socket(self).await,
            #[cfg(feature = "mcp")]
            Route::Mcp => routes::mcp::message(self, body).await,
            #[cfg(feature = "mcp")]
            Route::ResourceMetadata => routes::mcp::metadata(self),
            #[cfg(not(feature = "mcp"))]
            Route::Mcp | Route::ResourceMetadata => self.nowhere(),
        }
    }

    fn ready(self) -> Response {
        if self.shared.server_state.shutdown.is_draining() {
            return self.refuse(going_down());
        }
        if !self.shared.registry.is_ready() {
            return self.refuse(Refusal::cannot_keep());
        }
        if !self.shared.is_ready() {
            let refusal = Refusal::new(EngineCode::Overloaded).with_details(&json!({"ready": false}));
            return self.refuse(refusal.with_retry_after_ms(1000));
        }
        let mut said = self.shared.ready_details.as_ref().map(|details| details()).unwrap_or_default();
        said.insert("status".to_owned(), "ready".into());
        response::body(StatusCode::OK, response::JSON, Value::Object(said).to_string().into())
    }

    pub(crate) fn nowhere(self) -> Response {
        let refusal = Refusal::new(EngineCode::NotFound)
            .with_hint("Look into /openapi.json for the paths that are served here.")
            .with_details(&json!({"documents": ["/openapi.json", "/ops", "/errors"]}));
        self.refuse(refusal)
    }

    fn not_allowed(self, methods: Methods) -> Response {
        let refusal = Refusal::new(EngineCode::InvalidOperationType)
            .with_hint("Use one of the methods that the header `Allow` names.")
            .with_details(&json!({"allow": methods.allow().split(", ").collect::<Vec<_>>()}));
        response::problem(self.refused(refusal), Some(methods.allow()))
    }

    /// Refuses the message with a problem document.
    pub(crate) fn refuse(&self, refusal: Refusal) -> Response {
        response::problem(self.refused(refusal), None)
    }

    /// Refuses the message.
    pub(crate) fn refused(&self, refusal: Refusal) -> Envelope {
        self.shared.registry.refuse(refusal, self.meta.bare())
    }

    /// What every message that wants a call has to pass: it is not too late, and its headers
    /// can be honoured.
    pub(crate) fn admit(&self) -> Result<(), Refusal> {
        if self.shared.server_state.shutdown.is_draining() {
            return Err(going_down());
        }
        self.meta.check()
    }

    /// Reads the body, if it claims to be JSON and is not too large.
    pub(crate) async fn read(&self, body: Body) -> Result<CollectedBody<&BodyBudget>, Refusal> {
        self.read_within(body, self.shared.max_body).await
    }

    /// Reads a body of `max` bytes, if it claims to be JSON.
    pub(crate) async fn read_within(&self, body: Body, max: usize) -> Result<CollectedBody<&BodyBudget>, Refusal> {
        self.read_into(body, max, &*self.shared.server_state.room).await
    }

    /// Reads the body like [`read`](Exchange::read), for calls that may outlive this.
    pub(crate) async fn read_owned(&self, body: Body) -> Result<CollectedBody<Arc<BodyBudget>>, Refusal> {
        self.read_into(body, self.shared.max_body, Arc::clone(&self.shared.server_state.room)).await
    }

    async fn read_into<R: Deref<Target = BodyBudget>>(
        &self,
        body: Body,
        max: usize,
        room: R,
    ) -> Result<CollectedBody<R>, Refusal> {
        self.admit()?;
        self.meta.check_json()?;
        let read = body::read(body, max, self.shared.limits.body_time, self.room_for_body(room)).await;
        read.map_err(|unread| self.shared.unread(unread, max))
    }

    /// The room of the message's body.
    pub(crate) fn room_for_body<R: Deref<Target = BodyBudget>>(&self, room: R) -> BodyReservation<R> {
        let max = self.shared.most_of_bodies();
        let from = BodySource::of(self.meta.peer.map(|peer| peer.ip()), self.line.side.address.is_some());
        BodyReservation::new(room, from, max, self.parts.version == Version::HTTP_2)
    }
}

/// Whether a message may have a body that is large, or does not say.
fn may_be_large(parts: &Parts, body: &Body) -> bool {
    parts.method == Method::POST && body.size_hint().upper().is_none_or(|max| max > LARGE as u64)
}

/// Refuses what comes too late.
pub(crate) fn going_down() -> Refusal {
    Refusal::new(EngineCode::Overloaded).with_details(&json!({"shutting_down": true})).with_retry_after_ms(1000)
}

/// Whether the call was called off.
pub(crate) fn is_cancelled(envelope: &Envelope) -> bool {
    envelope.code() == Some(EngineCode::Cancelled.as_str())
}

/// A refusal as the face at this path writes it.
#[cfg_attr(not(feature = "mcp"), expect(unused_variables, reason = "every other face writes problem documents"))]
fn refused_at(path: &str, envelope: Envelope) -> Response {
    #[cfg(feature = "mcp")]
    if RouteRow::of(path).is_some_and(|row| row.route == Route::Mcp) {
        return routes::mcp::refuse(envelope);
    }
    response::problem(envelope, None)
}

fn options(methods: Methods) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods.allow()));
    response
}
