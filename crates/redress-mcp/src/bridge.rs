//! The way through the protocol's library: sessions, streams of messages, and methods that are
//! asked for seldom. Its handler asks the same functions as every other way.

use std::{pin::Pin, sync::Arc, time::Duration};

use ::http::{HeaderValue, Request, Response, header, request::Parts};
use bytes::Bytes;
use http_body_util::{Either, Full};
use redress_wire::{
    jsonrpc::Id,
    mcp::{Era, MODERN, method},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, DiscoverResult, ErrorCode, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerConfig,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::mpsc;

use crate::{
    Asking, Body, HttpOptions,
    mcp::{Asked, Inner},
    stream::Step,
};

/// After how much silence a stream shows that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many steps of progress wait to be sent.
const STEPS: usize = 16;

/// An answer on its way. It is boxed, since it would make every request on any way as large as the
/// largest one.
type Answering<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// The protocol's library as a service: for requests on their own, and for sessions.
#[derive(Clone)]
pub(crate) struct Bridge {
    stateless: StreamableHttpService<Handler, LocalSessionManager>,
    session: StreamableHttpService<Handler, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
}

impl Bridge {
    pub(crate) fn new(inner: &Arc<Inner>, options: &HttpOptions) -> Bridge {
        let manager = Arc::new(LocalSessionManager::default());
        // Host and Origin were looked at before, by one rule for all ways.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_cancellation_token(options.shutdown.clone())
            .with_max_request_body_bytes(options.max_body);
        let service = |manager: &Arc<LocalSessionManager>, config| {
            let handler = Handler { inner: Arc::clone(inner) };
            StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(manager), config)
        };
        Bridge {
            stateless: service(&Arc::default(), config.clone().with_legacy_session_mode(false).with_sse_retry(None)),
            session: service(&manager, config.with_legacy_session_mode(true)),
            manager,
        }
    }

    /// How many sessions there are.
    pub(crate) async fn sessions(&self) -> usize {
        self.manager.sessions.read().await.len()
    }

    /// Answers a request that stands on its own.
    pub(crate) fn stateless(&self, parts: Parts, body: Bytes, asking: Asking) -> Answering<'_> {
        let request = request(parts, body, asking);
        Box::pin(async { self.stateless.handle(request).await.map(Either::Right) })
    }

    /// Answers a message of a session, or one that opens it.
    pub(crate) fn session(&self, parts: Parts, body: Bytes, asking: Asking) -> Answering<'_> {
        let request = request(parts, body, asking);
        Box::pin(async { self.session.handle(request).await.map(Either::Right) })
    }
}

fn request(mut parts: Parts, body: Bytes, asking: Asking) -> Request<Full<Bytes>> {
    // The library refuses whoever does not take both, even where only one can come.
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, both);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // The token has told who calls, and goes no further.
    parts.headers.remove(header::AUTHORIZATION);
    parts.extensions.insert(asking);
    Request::from_parts(parts, Full::new(body))
}

/// What the library asks.
#[derive(Clone)]
struct Handler {
    inner: Arc<Inner>,
}

/// An answer of ours, taken apart for the library.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Wrong>,
}

#[derive(Deserialize)]
struct Wrong {
    code: i32,
    message: String,
    #[serde(default)]
    data: Option<Value>,
}

impl Handler {
    /// Asks what every other way asks, and gives the answer in the library's types.
    async fn relay<T: DeserializeOwned>(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        context: RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        let modern = context.protocol_version().is_some_and(|version| version.as_str() >= MODERN);
        let era = if modern { Era::Modern } else { Era::Legacy };
        let parts = context.extensions.get::<Parts>();
        let asking = parts.and_then(|parts| parts.extensions.get::<Asking>()).cloned().unwrap_or_default();
        let token = context.meta.get_progress_token();
        params.insert("_meta".into(), json!(context.meta));
        let params = Value::Object(params).to_string();
        let Some(asked) = Asked::read(method, params.as_bytes()) else {
            return Err(ErrorData::invalid_params("the parameters are not what the method takes", None));
        };
        let (sender, mut steps) = mpsc::channel::<Step>(STEPS);
        let sender = token.is_some().then_some(sender);
        let mut answer = std::pin::pin!(self.inner.answer(Id::NULL, &asked, era, &asking, sender.as_ref()));
        let reply = loop {
            tokio::select! {
                biased;
                // Dropping the call cancels it.
                () = context.ct.cancelled() => return Err(ErrorData::internal_error("the request was cancelled", None)),
                Some(step) = steps.recv() => tell(&context, token.as_ref(), step).await,
                reply = &mut answer => break reply,
            }
        };
        // A call that never paused has left its steps behind.
        while let Ok(step) = steps.try_recv() {
            tell(&context, token.as_ref(), step).await;
        }
        taken_apart(&reply.body)
    }
}

async fn tell(context: &RequestContext<RoleServer>, token: Option<&ProgressToken>, step: Step) {
    let Some(token) = token else { return };
    let mut told = ProgressNotificationParam::new(token.clone(), step.progress);
    told.total = step.total;
    told.message = step.message;
    // Who does not listen still gets the result.
    let _ = context.peer.notify_progress(told).await;
}

fn taken_apart<T: DeserializeOwned>(body: &[u8]) -> Result<T, ErrorData> {
    let broken = || ErrorData::internal_error("the answer could not be carried", None);
    let answer: Answer<'_> = serde_json::from_slice(body).map_err(|_| broken())?;
    match (answer.result, answer.error) {
        (Some(result), _) => serde_json::from_str(result.get()).map_err(|_| broken()),
        (None, Some(Wrong { code, message, data })) => Err(ErrorData::new(ErrorCode(code), message, data)),
        (None, None) => Err(broken()),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        serde_json::from_slice(self.inner.initialized()).unwrap_or_default()
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.relay(method::DISCOVER, Map::new(), context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor).map(|cursor| ("cursor".to_owned(), json!(cursor)));
        self.relay(method::TOOLS_LIST, cursor.into_iter().collect(), context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut params = Map::from_iter([("name".to_owned(), json!(request.name))]);
        params.extend(request.arguments.map(|arguments| ("arguments".to_owned(), Value::Object(arguments))));
        params.extend(request.input_responses.map(|given| ("inputResponses".to_owned(), json!(given))));
        params.extend(request.request_state.map(|given| ("requestState".to_owned(), json!(given))));
        let result: CallToolResult = self.relay(method::TOOLS_CALL, params, context).await?;
        Ok(CallToolResponse::from(result))
    }
}
