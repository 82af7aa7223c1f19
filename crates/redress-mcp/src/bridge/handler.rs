//! What the protocol's library asks, answered by the functions that every other way asks.
#![expect(deprecated, reason = "clients of the legacy era still use what the modern one has done away with")]

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use ::http::request::Parts;
use redress_wire::{
    jsonrpc::Id,
    mcp::{Era, MODERN, Wanted, method},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
        CustomNotification, DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
        InitializeRequestParams, InitializeResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig, ServerNotification,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{NotificationContext, Peer, RequestContext, SubscriptionContext},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;

use super::live::Live;
use crate::{
    Asking,
    asked::Asked,
    http::Belongings,
    mcp::Inner,
    session::{self, MOST_DOCUMENTS, MOST_NAMES, Notice, Session},
    way::{Tells, Told, Way},
};

/// What the library asks: of a request on its own, or of a session.
pub(super) struct Handler {
    inner: Arc<Inner>,
    session: Option<OpenSession>,
}

/// A session, until it is let go.
struct OpenSession {
    known: Arc<Session>,
    /// Whether it is told what changes.
    told: AtomicBool,
    /// What it has until then.
    belongings: OnceLock<Arc<Belongings>>,
    over: CancellationToken,
    _over: DropGuard,
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

/// A result, or the questions that come first.
enum Round<T> {
    Complete(T),
    Asks(InputRequiredResult),
}

impl Handler {
    pub(super) fn new(inner: Arc<Inner>, in_session: bool) -> Handler {
        let session = in_session.then(|| {
            let over = CancellationToken::new();
            OpenSession {
                known: Arc::default(),
                told: AtomicBool::new(false),
                belongings: OnceLock::new(),
                _over: over.clone().drop_guard(),
                over,
            }
        });
        Handler { inner, session }
    }

    /// Asks what every other way asks, and gives the answer as it is written.
    async fn answer(
        &self,
        method: &str,
        params: impl Serialize,
        context: RequestContext<RoleServer>,
    ) -> Result<bytes::Bytes, ErrorData> {
        let modern = context.protocol_version().is_some_and(|version| version.as_str() >= MODERN);
        let era = if modern { Era::Modern } else { Era::Legacy };
        let asking = asking(&context);
        let mut params = match serde_json::to_value(params) {
            Ok(Value::Object(params)) => params,
            Ok(_) | Err(_) => Map::new(),
        };
        params.insert("_meta".into(), json!(context.meta));
        let params = Value::Object(params).to_string();
        let Some(asked) = Asked::read(method, params.as_bytes()) else {
            return Err(ErrorData::invalid_params("the parameters are not what the method takes", None));
        };
        let token = context.meta.get_progress_token();
        let session = self.session.as_ref().map(|session| &*session.known);
        let notes = match (era, session) {
            (Era::Modern, _) => asked.meta().and_then(|meta| session::level(meta.log_level.as_deref()?)),
            (Era::Legacy, session) => session.map(Session::level),
        };
        let (tells, told) = if asked.runs() { Tells::wanted(token.is_some(), notes) } else { None }.unzip();
        let asker = session.filter(|_| era == Era::Legacy).map(|_| Live::asker(&context));
        let way = Way { tells: tells.as_ref(), listener: None, asker: asker.as_ref(), session };
        // The library runs this in a task of its own, which knows nothing of the trace around the request.
        let trace = asking.trace.clone().unwrap_or_else(tracing::Span::none);
        let answer = self.inner.answer(Id::NULL, &asked, era, &asking, way).instrument(trace);
        let Some(mut told) = told else {
            return tokio::select! {
                biased;
                // Dropping the call cancels it.
                () = context.ct.cancelled() => Err(cancelled()),
                reply = answer => Ok(reply.body),
            };
        };
        let mut answer = std::pin::pin!(answer);
        let reply = loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => return Err(cancelled()),
                Some(told) = told.recv() => tell(&context, told).await,
                reply = &mut answer => break reply,
            }
        };
        // A call that never paused has left what it told behind.
        while let Ok(told) = told.try_recv() {
            tell(&context, told).await;
        }
        Ok(reply.body)
    }

    async fn relay<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        context: RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        taken_apart(&self.answer(method, params, context).await?)
    }

    async fn relay_round<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        context: RequestContext<RoleServer>,
    ) -> Result<Round<T>, ErrorData> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Kind<'a> {
            #[serde(borrow, default)]
            result_type: Option<&'a str>,
        }
        let body = self.answer(method, params, context).await?;
        let asks = |kind: &Kind<'_>| kind.result_type == Some("input_required");
        if taken_apart_with(&body, serde_json::from_str).is_ok_and(|kind| asks(&kind)) {
            return taken_apart(&body).map(Round::Asks);
        }
        taken_apart(&body).map(Round::Complete)
    }
}

/// What is known of a request beside its message.
fn asking(context: &RequestContext<RoleServer>) -> Asking {
    let parts = context.extensions.get::<Parts>();
    parts.and_then(|parts| parts.extensions.get::<Asking>()).cloned().unwrap_or_default()
}

/// What the request that opens a session has brought for it.
fn brought(context: &RequestContext<RoleServer>) -> Option<Arc<Belongings>> {
    context.extensions.get::<Parts>()?.extensions.get::<Arc<Belongings>>().cloned()
}

fn cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

/// Tells the client what a handler told. Who does not listen still gets the result.
async fn tell(context: &RequestContext<RoleServer>, told: Told) {
    match told {
        Told::Step(step) => {
            let Some(token) = context.meta.get_progress_token() else { return };
            let mut params = ProgressNotificationParam::new(token, step.progress);
            params.total = step.total;
            params.message = step.message;
            let _ = context.peer.notify_progress(params).await;
        }
        Told::Note(note) => notify(&context.peer, method::NOTE, session::note(&note)).await,
    }
}

async fn notify(peer: &Peer<RoleServer>, method: &str, params: Value) {
    let note = CustomNotification::new(method, Some(params));
    let _ = peer.send_notification(ServerNotification::CustomNotification(note)).await;
}

fn taken_apart<T: DeserializeOwned>(body: &[u8]) -> Result<T, ErrorData> {
    taken_apart_with(body, serde_json::from_str)
}

fn taken_apart_with<'a, T>(
    body: &'a [u8],
    read: impl FnOnce(&'a str) -> serde_json::Result<T>,
) -> Result<T, ErrorData> {
    let broken = || ErrorData::internal_error("the answer could not be carried", None);
    let answer: Answer<'a> = serde_json::from_slice(body).map_err(|_| broken())?;
    match (answer.result, answer.error) {
        (Some(result), _) => read(result.get()).map_err(|_| broken()),
        (None, Some(Wrong { code, message, data })) => Err(ErrorData::new(ErrorCode(code), message, data)),
        (None, None) => Err(broken()),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        // What a stream of changes may tell is asked of this, and not of a client without a session.
        serde_json::from_slice(self.inner.initialized(true)).unwrap_or_default()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if let (Some(session), Some(belongings)) = (&self.session, brought(&context)) {
            // Who has them already is no new session.
            let _ = session.belongings.set(belongings);
        }
        context.peer.set_peer_info(request.clone());
        let agreed = self.negotiate_initialize(&request)?;
        let known: Result<InitializeResult, _> = serde_json::from_slice(self.inner.initialized(self.session.is_some()));
        Ok(match known {
            Ok(mut info) => {
                info.protocol_version = agreed.protocol_version;
                info
            }
            Err(_) => agreed,
        })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Some(session) = &self.session else { return };
        if session.told.swap(true, Ordering::AcqRel) {
            return;
        }
        let (known, over) = (Arc::clone(&session.known), session.over.clone());
        let mut changes = self.inner.registry.changes().subscribe();
        tokio::spawn(async move {
            loop {
                let change = tokio::select! {
                    () = over.cancelled() => return,
                    change = changes.next() => change,
                };
                let Some(change) = change else { return };
                for notice in known.notices(&change) {
                    let (method, params) = notice.message();
                    notify(&context.peer, method, params).await;
                }
            }
        });
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.relay(method::DISCOVER, json!({}), context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.relay(method::TOOLS_LIST, request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.relay(method::PROMPTS_LIST, request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.relay(method::RESOURCES_LIST, request, context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.relay(method::RESOURCE_TEMPLATES_LIST, request, context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(match self.relay_round::<CallToolResult>(method::TOOLS_CALL, request, context).await? {
            Round::Complete(result) => CallToolResponse::from(result),
            Round::Asks(asks) => CallToolResponse::from(asks),
        })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(match self.relay_round::<GetPromptResult>(method::PROMPTS_GET, request, context).await? {
            Round::Complete(result) => GetPromptResponse::from(result),
            Round::Asks(asks) => GetPromptResponse::from(asks),
        })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(match self.relay_round::<ReadResourceResult>(method::RESOURCES_READ, request, context).await? {
            Round::Complete(result) => ReadResourceResponse::from(result),
            Round::Asks(asks) => ReadResourceResponse::from(asks),
        })
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.relay(method::COMPLETE, request, context).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.relay::<Value>(method::SET_LEVEL, request, context).await.map(drop)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.relay::<Value>(method::RESOURCES_SUBSCRIBE, request, context).await.map(drop)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.relay::<Value>(method::RESOURCES_UNSUBSCRIBE, request, context).await.map(drop)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            let mut bytes = 0;
            uris.truncate(MOST_DOCUMENTS);
            uris.retain(|uri| {
                bytes += uri.len();
                bytes <= MOST_NAMES
            });
            uris.shrink_to_fit();
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.inner.registry.changes().subscribe();
        let (accepted, asking) = (context.accepted(), asking(context.request_context()));
        let wanted = Wanted {
            tools_list_changed: accepted.tools_list_changed.unwrap_or_default(),
            prompts_list_changed: accepted.prompts_list_changed.unwrap_or_default(),
            resources_list_changed: accepted.resources_list_changed.unwrap_or_default(),
            resource_subscriptions: self.inner.readable(accepted.resource_subscriptions.iter().flatten(), &asking),
        };
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.next() => change,
            };
            let Some(change) = change else { return Ok(()) };
            for notice in session::notices(&change, &wanted) {
                let sink = context.sink();
                let sent = match notice {
                    Notice::Tools => sink.notify_tool_list_changed().await,
                    Notice::Prompts => sink.notify_prompt_list_changed().await,
                    Notice::Resources => sink.notify_resource_list_changed().await,
                    Notice::Updated(uri) => sink.notify_resource_updated(uri).await,
                };
                if sent.is_err() {
                    return Ok(());
                }
            }
        }
    }
}
