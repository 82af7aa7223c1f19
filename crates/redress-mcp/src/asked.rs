//! A request, as far as its method says how to read it.

use redress_wire::mcp::{
    CallParams, CompleteParams, InitializeParams, LevelParams, ListParams, Listed, ListenParams, ReadParams,
    RequestMeta, RoundParams, method, read_params,
};

use crate::Asking;

/// A request, as far as its method says how to read it.
#[derive(Debug)]
pub(crate) enum Asked<'a> {
    Call(CallParams<'a>),
    List(Listed, ListParams<'a>),
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

impl<'a> Asked<'a> {
    /// Reads the parameters of a method; nothing if they are not what it takes.
    pub(crate) fn read(method: &str, params: &'a [u8]) -> Option<Asked<'a>> {
        let meta = || read_params::<ListParams<'_>>(params).map(|params| params.meta.unwrap_or_default());
        let listed = |listed| Some(Asked::List(listed, read_params(params)?));
        // What the modern era has done away with is not there, whatever it is given.
        let legacy = |read: Option<Asked<'a>>| {
            read.or_else(|| meta().filter(|meta| meta.protocol_version.is_some()).map(Asked::Other))
        };
        match method {
            method::TOOLS_CALL => Some(Asked::Call(read_params(params)?)),
            method::TOOLS_LIST => listed(Listed::Tools),
            method::PROMPTS_LIST => listed(Listed::Prompts),
            method::RESOURCES_LIST => listed(Listed::Resources),
            method::RESOURCE_TEMPLATES_LIST => listed(Listed::ResourceTemplates),
            method::PROMPTS_GET => Some(Asked::Prompt(read_params(params)?)),
            method::RESOURCES_READ => Some(Asked::Read(read_params(params)?)),
            method::COMPLETE => Some(Asked::Complete(read_params(params)?)),
            method::INITIALIZE => legacy(read_params(params).map(Asked::Initialize)),
            method::DISCOVER => Some(Asked::Discover(meta()?)),
            method::LISTEN => Some(Asked::Listen(read_params(params)?)),
            method::SET_LEVEL => legacy(read_params(params).map(Asked::SetLevel)),
            method::RESOURCES_SUBSCRIBE => legacy(read_params(params).map(Asked::Subscribe)),
            method::RESOURCES_UNSUBSCRIBE => legacy(read_params(params).map(Asked::Unsubscribe)),
            method::PING => Some(Asked::Ping(meta()?)),
            _ => Some(Asked::Other(meta().unwrap_or_default())),
        }
    }

    /// What the request says of itself.
    pub(crate) fn meta(&self) -> Option<&RequestMeta<'a>> {
        match self {
            Asked::Call(params) => params.meta.as_ref(),
            Asked::List(_, params) => params.meta.as_ref(),
            Asked::Prompt(params) => params.meta.as_ref(),
            Asked::Read(params) | Asked::Subscribe(params) | Asked::Unsubscribe(params) => params.meta.as_ref(),
            Asked::Complete(params) => params.meta.as_ref(),
            Asked::Listen(params) => params.meta.as_ref(),
            Asked::SetLevel(params) => params.meta.as_ref(),
            Asked::Discover(meta) | Asked::Ping(meta) | Asked::Other(meta) => Some(meta),
            Asked::Initialize(_) => None,
        }
    }

    /// What the header that names the subject of a request has to say, for those that need it.
    pub(crate) fn subject(&self) -> Option<&str> {
        match self {
            Asked::Call(params) => Some(&params.name),
            Asked::Prompt(params) => Some(&params.name),
            Asked::Read(params) => Some(&params.uri),
            Asked::List(..)
            | Asked::Complete(_)
            | Asked::Initialize(_)
            | Asked::Discover(_)
            | Asked::Listen(_)
            | Asked::SetLevel(_)
            | Asked::Subscribe(_)
            | Asked::Unsubscribe(_)
            | Asked::Ping(_)
            | Asked::Other(_) => None,
        }
    }

    /// Whether it runs an operation, which may have something to tell meanwhile.
    pub(crate) fn runs(&self) -> bool {
        matches!(self, Asked::Call(_) | Asked::Prompt(_) | Asked::Read(_))
    }
}

/// What makes a request a further round of an earlier one, and whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Rounds<'a> {
    pub(crate) params: RoundParams<'a>,
    pub(crate) asking: &'a Asking,
}

/// A request that may be a further round of an earlier one.
pub(crate) trait InRounds {
    fn rounds<'a>(&'a self, asking: &'a Asking) -> Rounds<'a>;
}

macro_rules! in_rounds {
    ($($params:ident),*) => {$(
        impl InRounds for $params<'_> {
            fn rounds<'a>(&'a self, asking: &'a Asking) -> Rounds<'a> {
                let can = self.meta.as_ref().map(RequestMeta::client_can).unwrap_or_default();
                let params = RoundParams { can, responses: self.input_responses, state: self.request_state };
                Rounds { params, asking }
            }
        }
    )*};
}

in_rounds!(CallParams, ReadParams);
