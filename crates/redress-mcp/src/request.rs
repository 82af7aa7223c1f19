//! A request, as far as its method says how to read it.

use redress_wire::mcp::{
    CallParams, CompleteParams, InitializeParams, LevelParams, ListKind, ListParams, ListenParams, ReadParams,
    RequestMeta, RoundParams, method, read_params,
};

use crate::RequestContext;

/// A request, as far as its method says how to read it.
#[derive(Debug)]
pub(crate) enum McpRequest<'a> {
    Call(CallParams<'a>),
    List(ListKind, ListParams<'a>),
    Prompt(CallParams<'a>),
    Read(ReadParams<'a>),
    Complete(CompleteParams<'a>),
    Initialize(InitializeParams<'a>),
    Discover(RequestMeta<'a>),
    Listen(ListenParams<'a>),
    SetLevel(LevelParams<'a>),
    Subscribe(ReadParams<'a>),
    Unsubscribe(ReadParams<'a>),
    Ping(RequestMeta<'a>),
    /// Something else, which does not exist.
    Other(RequestMeta<'a>),
}

impl<'a> McpRequest<'a> {
    /// Reads the parameters of a method; nothing if they are not what it takes.
    pub(crate) fn read(method: &str, params: &'a [u8]) -> Option<McpRequest<'a>> {
        let meta = || read_params::<ListParams<'_>>(params).map(|params| params.meta.unwrap_or_default());
        let listed = |listed| Some(McpRequest::List(listed, read_params(params)?));
        // What the modern era has done away with is not there, whatever it is given.
        let legacy = |read: Option<McpRequest<'a>>| {
            read.or_else(|| meta().filter(|meta| meta.protocol_version.is_some()).map(McpRequest::Other))
        };
        match method {
            method::TOOLS_CALL => Some(McpRequest::Call(read_params(params)?)),
            method::TOOLS_LIST => listed(ListKind::Tools),
            method::PROMPTS_LIST => listed(ListKind::Prompts),
            method::RESOURCES_LIST => listed(ListKind::Resources),
            method::RESOURCE_TEMPLATES_LIST => listed(ListKind::ResourceTemplates),
            method::PROMPTS_GET => Some(McpRequest::Prompt(read_params(params)?)),
            method::RESOURCES_READ => Some(McpRequest::Read(read_params(params)?)),
            method::COMPLETE => Some(McpRequest::Complete(read_params(params)?)),
            method::INITIALIZE => legacy(read_params(params).map(McpRequest::Initialize)),
            method::DISCOVER => Some(McpRequest::Discover(meta()?)),
            method::LISTEN => Some(McpRequest::Listen(read_params(params)?)),
            method::SET_LEVEL => legacy(read_params(params).map(McpRequest::SetLevel)),
            method::RESOURCES_SUBSCRIBE => legacy(read_params(params).map(McpRequest::Subscribe)),
            method::RESOURCES_UNSUBSCRIBE => legacy(read_params(params).map(McpRequest::Unsubscribe)),
            method::PING => Some(McpRequest::Ping(meta()?)),
            _ => Some(McpRequest::Other(meta().unwrap_or_default())),
        }
    }

    /// What the request says of itself.
    pub(crate) fn meta(&self) -> Option<&RequestMeta<'a>> {
        match self {
            McpRequest::Call(params) => params.meta.as_ref(),
            McpRequest::List(_, params) => params.meta.as_ref(),
            McpRequest::Prompt(params) => params.meta.as_ref(),
            McpRequest::Read(params) | McpRequest::Subscribe(params) | McpRequest::Unsubscribe(params) => {
                params.meta.as_ref()
            }
            McpRequest::Complete(params) => params.meta.as_ref(),
            McpRequest::Listen(params) => params.meta.as_ref(),
            McpRequest::SetLevel(params) => params.meta.as_ref(),
            McpRequest::Discover(meta) | McpRequest::Ping(meta) | McpRequest::Other(meta) => Some(meta),
            McpRequest::Initialize(_) => None,
        }
    }

    /// What the header that names the subject of a request has to say, for those that need it.
    pub(crate) fn subject(&self) -> Option<&str> {
        match self {
            McpRequest::Call(params) => Some(&params.name),
            McpRequest::Prompt(params) => Some(&params.name),
            McpRequest::Read(params) => Some(&params.uri),
            McpRequest::List(..)
            | McpRequest::Complete(_)
            | McpRequest::Initialize(_)
            | McpRequest::Discover(_)
            | McpRequest::Listen(_)
            | McpRequest::SetLevel(_)
            | McpRequest::Subscribe(_)
            | McpRequest::Unsubscribe(_)
            | McpRequest::Ping(_)
            | McpRequest::Other(_) => None,
        }
    }

    /// Whether it runs an operation, which may have something to tell meanwhile.
    pub(crate) fn runs(&self) -> bool {
        matches!(self, McpRequest::Call(_) | McpRequest::Prompt(_) | McpRequest::Read(_))
    }
}

/// What makes a request a further round of an earlier one, and whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Rounds<'a> {
    pub(crate) params: RoundParams<'a>,
    pub(crate) context: &'a RequestContext,
}

/// A request that may be a further round of an earlier one.
pub(crate) trait InRounds {
    fn rounds<'a>(&'a self, context: &'a RequestContext) -> Rounds<'a>;
}

macro_rules! in_rounds {
    ($($params:ident),*) => {$(
        impl InRounds for $params<'_> {
            fn rounds<'a>(&'a self, context: &'a RequestContext) -> Rounds<'a> {
                let can = self.meta.as_ref().map(RequestMeta::client_can).unwrap_or_default();
                let params = RoundParams { can, responses: self.input_responses, state: self.request_state };
                Rounds { params, context }
            }
        }
    )*};
}

in_rounds!(CallParams, ReadParams);
