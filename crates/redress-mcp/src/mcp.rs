//! The face itself: what requests are, and how each is answered.
//!
//! Why so: docs/decisions/0018-two-ways-through-mcp.md.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, OnceLock},
};

use redress_contract::Caller;
use redress_core::{
    Registry,
    contained::{ContainedSpan, poll_contained},
};
use redress_wire::{
    http::header::TraceParent,
    jsonrpc::Id,
    mcp::{self, Capabilities, Cost, Era, InitializeParams, RequestMeta, negotiate},
};

use crate::{
    HttpFace, HttpOptions, McpOptions, RequestContext, catalogue::Catalogue, client_channel::ClientChannel,
    prompts::failed, prompts_and_resources::PromptsAndResources, refusal::Unfit, reply::Reply, request::McpRequest,
    rounds::Seal, session, stdio,
};

/// How often the bytes of an output are there while a result is written out of them: once by themselves, once as
/// `structuredContent`, and as text, in which each may be escaped.
const COPIES: usize = 4;

/// The MCP face of a registry. Cloning is cheap, and all clones are the same face.
#[derive(Clone, Debug)]
pub struct Mcp(pub(crate) Arc<McpInner>);

#[derive(Debug)]
pub(crate) struct McpInner {
    pub(crate) registry: Registry,
    pub(crate) options: McpOptions,
    pub(crate) catalogue: Catalogue,
    pub(crate) prompts_and_resources: PromptsAndResources,
    seal: Arc<Seal>,
    /// That of the face in whose place this one came.
    carried_on: OnceLock<Arc<Seal>>,
    /// What can be done for a client that is known from one request to the next.
    in_session: Capabilities,
    /// The same for a client of which nothing is kept, so that nothing can be told it unasked.
    alone: Capabilities,
}

/// Why there is no face.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// A profile names what does not exist.
    #[error("the profile `{profile}` names `{pattern}`, and no operation fits that")]
    ProfileIdle {
        /// The profile.
        profile: String,
        /// What it names.
        pattern: String,
    },
    /// The key for the states of calls is too short to keep anybody out.
    #[error("the key for the states of calls has less than 32 bytes")]
    StateKeyShort,
    /// The system gives no random bytes to make a key of.
    #[error("the system gives no random bytes to make a key of")]
    NoRandomness,
}

impl Mcp {
    /// The face of `registry`.
    pub fn new(registry: Registry, options: McpOptions) -> Result<Mcp, McpError> {
        // From here on there is nothing but what the face shows.
        let registry = registry.view(|operation| options.shows(operation));
        let catalogue = Catalogue::new(&registry, &options)?;
        let prompts_and_resources = PromptsAndResources::new(&registry, &options);
        let seal = Arc::new(Seal::new(options.state_key.as_ref(), options.state_lasts)?);
        let carried_on = OnceLock::new();
        let alone = Capabilities { tools: true, ..prompts_and_resources.capabilities() };
        let in_session = Capabilities { logging: true, announces: true, ..alone };
        Ok(Mcp(Arc::new(McpInner {
            registry,
            options,
            catalogue,
            prompts_and_resources,
            seal,
            carried_on,
            in_session,
            alone,
        })))
    }

    /// What each tool that `caller` is listed costs a model that is shown it, the dearest first.
    pub fn costs(&self, caller: Option<&Caller>) -> Vec<Cost> {
        self.0.catalogue.costs(caller)
    }

    /// The face over HTTP.
    pub fn http(&self, options: HttpOptions) -> HttpFace {
        HttpFace::new(self, options)
    }

    /// The face over one input and one output, a message a line, until the input ends. Every
    /// request runs as `context` says.
    pub async fn stdio(
        &self,
        input: impl std::io::Read + Send + 'static,
        output: impl std::io::Write + Send + 'static,
        context: RequestContext,
    ) -> std::io::Result<()> {
        stdio::serve(&self.0, input, output, context).await
    }

    /// The face over the input and output of this process, which are its alone from here on: what
    /// an operation prints goes to the error stream. Every request runs as `context` says.
    pub async fn standard_io(&self, context: RequestContext) -> std::io::Result<()> {
        stdio::serve_process(&self.0, context).await
    }
}

impl McpInner {
    /// What states are sealed with.
    pub(crate) fn seal(&self) -> &Seal {
        self.carried_on.get().unwrap_or(&self.seal)
    }

    /// Goes on with the seal of the face in whose place this one comes, where both have the same settings: a question that
    /// is open can be answered then, and a yes that was used up stays so.
    pub(crate) fn carry_on(&self, seal: &mut Option<Arc<Seal>>) {
        match seal {
            Some(seal) if seal.is_alike(&self.seal) => drop(self.carried_on.set(Arc::clone(seal))),
            Some(_) | None => *seal = Some(Arc::clone(&self.seal)),
        }
    }

    /// Answers a request that has passed the checks of its connection, in the trace that it names itself:
    /// a connection may carry the requests of many. Whatever panics on the way, there is an answer.
    pub(crate) async fn answer(
        &self,
        id: Id<'_>,
        asked: &McpRequest<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let mut answered = pin!(async {
            let Some(account) = context.account.as_ref().filter(|_| asked.runs()) else {
                return self.traced(id, asked, era, context, channel).await;
            };
            let account = account.message(COPIES);
            let context = RequestContext { account: Some(account.clone()), ..context.clone() };
            let reply = self.traced(id, asked, era, &context, channel).await;
            let reservation = account.settle(reply.body.len());
            reply.holding(reservation)
        });
        let answered = poll_fn(|cx| poll_contained(answered.as_mut(), cx)).await;
        answered.unwrap_or_else(|payload| {
            let envelope = self.registry.lost(&*payload, context.request(b""));
            if matches!(asked, McpRequest::Call(_)) {
                self.carry(id, &envelope, None, None, era, context)
            } else {
                failed(id, &envelope, None, era)
            }
        })
    }

    async fn traced(
        &self,
        id: Id<'_>,
        asked: &McpRequest<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let reply = match asked.meta().and_then(span) {
            None => self.respond(id, asked, era, context, channel).await,
            Some(span) => Box::pin(span.instrument(self.respond(id, asked, era, context, channel))).await,
        };
        // By which id the client knows the call, so that what it reports can be found.
        if let Some(request_id) = &reply.request_id {
            tracing::debug!(%request_id, jsonrpc_id = id.as_json(), "a request of MCP has ended");
        }
        reply
    }

    async fn respond(
        &self,
        id: Id<'_>,
        asked: &McpRequest<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        if let Some(reply) = self.needless_key(id, asked, era, context) {
            return reply;
        }
        match asked {
            McpRequest::Call(params) => self.call(id, params, era, context, channel).await,
            McpRequest::List(listed, params) => self.list(id, *listed, params, era, context),
            McpRequest::Prompt(params) => Box::pin(self.prompt(id, params, era, context, channel)).await,
            McpRequest::Read(params) => Box::pin(self.read(id, params, era, context, channel)).await,
            McpRequest::Complete(params) => Box::pin(self.complete(id, params, era, context)).await,
            McpRequest::Discover(_) => self.discovered(id, context),
            McpRequest::Initialize(params) if era == Era::Legacy => self.initialize(id, params, context, channel),
            McpRequest::Ping(_) if era == Era::Legacy => Reply::result(id, b"{}"),
            McpRequest::Initialize(_)
            | McpRequest::Ping(_)
            | McpRequest::Listen(_)
            | McpRequest::SetLevel(_)
            | McpRequest::Subscribe(_)
            | McpRequest::Unsubscribe(_)
            | McpRequest::Other(_) => match (era, channel.session) {
                (Era::Legacy, Some(session)) => Box::pin(self.of_session(id, asked, era, context, session)).await,
                (Era::Legacy | Era::Modern, _) => self.refuse(&Unfit::NoMethod, id, context),
            },
        }
    }

    /// Answers what only a client can ask that is known from one request to the next.
    async fn of_session(
        &self,
        id: Id<'_>,
        asked: &McpRequest<'_>,
        era: Era,
        context: &RequestContext,
        session: &session::Session,
    ) -> Reply {
        if let McpRequest::SetLevel(params) = asked {
            let Some(level) = session::level(&params.level) else {
                return self.refuse(&Unfit::Level, id, context);
            };
            session.set_level(level);
            return Reply::result(id, b"{}");
        }
        if let McpRequest::Subscribe(params) = asked {
            return self.subscribe(id, &params.uri, era, context, session).await;
        }
        if let McpRequest::Unsubscribe(params) = asked {
            session.unsubscribe(&params.uri);
            return Reply::result(id, b"{}");
        }
        self.refuse(&Unfit::NoMethod, id, context)
    }

    fn initialize(
        &self,
        id: Id<'_>,
        params: &InitializeParams<'_>,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let can = if channel.session.is_some() { self.in_session } else { self.alone };
        let visible = self.catalogue.visible(context.caller());
        let instructions = self.catalogue.instructions(&visible);
        let agreed = negotiate(&params.protocol_version);
        Reply::result(id, &mcp::initialize_result(agreed, self.catalogue.info(), can, instructions))
    }

    fn discovered(&self, id: Id<'_>, context: &RequestContext) -> Reply {
        let visible = self.catalogue.visible(context.caller());
        let instructions = self.catalogue.instructions(&visible);
        let caching = self.options.caching(&self.registry);
        Reply::result(id, &mcp::discover_result(self.catalogue.info(), self.in_session, caching, instructions))
    }
}

/// The span of a request that belongs to its caller's trace, as the span of one over HTTP. What cannot be
/// read is as if absent.
fn span(meta: &RequestMeta<'_>) -> Option<ContainedSpan> {
    let (parent, state) = (meta.traceparent()?, meta.tracestate());
    let trace = TraceParent::read(&parent)?;
    Some(ContainedSpan::new(|| {
        tracing::info_span!(
            "redress.mcp",
            trace_id = trace.trace_id,
            parent_span_id = trace.parent_id,
            sampled = trace.sampled,
            tracestate = state.as_deref(),
        )
    }))
}
