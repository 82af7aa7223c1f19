//! The face itself: what requests are, and how each is answered.

use std::sync::Arc;

use redress_contract::Caller;
use redress_core::Registry;
use redress_wire::{
    jsonrpc::Id,
    mcp::{
        self, CacheScope, Caching, CallParams, Capabilities, Cost, Era, InitializeParams, ListParams, ProtocolError,
        RequestMeta, VERSIONS, method, negotiate, read_params,
    },
};

use crate::{Asking, HttpFace, HttpOptions, McpOptions, catalogue::Catalogue, reply::Reply, stdio, stream::Progress};

/// The MCP face of a registry. Cloning is cheap, and all clones are the same face.
#[derive(Clone, Debug)]
pub struct Mcp(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) registry: Registry,
    pub(crate) options: McpOptions,
    pub(crate) catalogue: Catalogue,
    /// The result of `initialize` for each revision that has it.
    initialize: Vec<(&'static str, Vec<u8>)>,
    discover: Vec<u8>,
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
}

/// A request, as far as its method says how to read it.
#[derive(Debug)]
pub(crate) enum Asked<'a> {
    Call(CallParams<'a>),
    List(ListParams<'a>),
    Initialize(InitializeParams<'a>),
    Discover(RequestMeta<'a>),
    Ping(RequestMeta<'a>),
    /// Something else, which may exist or not.
    Other(RequestMeta<'a>),
}

impl<'a> Asked<'a> {
    /// Reads the parameters of a method; nothing if they are not what it takes.
    pub(crate) fn read(method: &str, params: &'a [u8]) -> Option<Asked<'a>> {
        let meta = || read_params::<ListParams<'_>>(params).map(|params| params.meta.unwrap_or_default());
        Some(match method {
            method::TOOLS_CALL => Asked::Call(read_params(params)?),
            method::TOOLS_LIST => Asked::List(read_params(params)?),
            method::INITIALIZE => Asked::Initialize(read_params(params)?),
            method::DISCOVER => Asked::Discover(meta()?),
            method::PING => Asked::Ping(meta()?),
            _ => Asked::Other(meta().unwrap_or_default()),
        })
    }

    /// What the request says of itself.
    pub(crate) fn meta(&self) -> Option<&RequestMeta<'a>> {
        match self {
            Asked::Call(params) => params.meta.as_ref(),
            Asked::List(params) => params.meta.as_ref(),
            Asked::Discover(meta) | Asked::Ping(meta) | Asked::Other(meta) => Some(meta),
            Asked::Initialize(_) => None,
        }
    }
}

impl Mcp {
    /// The face of `registry`.
    pub fn new(registry: Registry, options: McpOptions) -> Result<Mcp, McpError> {
        let info = options.info();
        let can = Capabilities { tools: true, ..Capabilities::default() };
        let legacy = VERSIONS.into_iter().filter(|version| Era::of(version) == Some(Era::Legacy));
        let initialize = legacy.map(|version| (version, mcp::initialize_result(version, &info, can))).collect();
        let catalogue = Catalogue::new(&registry, &options)?;
        let scope = if registry.identity().is_some() { CacheScope::Private } else { CacheScope::Public };
        let discover = mcp::discover_result(&info, can, Caching { ttl_ms: options.ttl_ms, scope });
        Ok(Mcp(Arc::new(Inner { registry, options, catalogue, initialize, discover })))
    }

    /// What each tool that `caller` may call costs whoever lists it, the dearest first.
    pub fn costs(&self, caller: Option<&Caller>) -> Vec<Cost> {
        self.0.catalogue.costs(caller)
    }

    /// The face over HTTP.
    pub fn http(&self, options: HttpOptions) -> HttpFace {
        HttpFace::new(self, options)
    }

    /// The face over one input and one output, a message a line, until the input ends. Every
    /// request runs as `asking` says.
    pub async fn stdio(
        &self,
        input: impl std::io::Read + Send + 'static,
        output: impl std::io::Write + Send + 'static,
        asking: Asking,
    ) -> std::io::Result<()> {
        stdio::serve(&self.0, input, output, asking).await
    }
}

impl Inner {
    /// Answers a request that has passed the checks of its connection.
    pub(crate) async fn answer(
        &self,
        id: Id<'_>,
        asked: &Asked<'_>,
        era: Era,
        asking: &Asking,
        progress: Option<&Progress>,
    ) -> Reply {
        match asked {
            Asked::Call(params) => self.call(id, params, era, asking, progress).await,
            Asked::List(params) => self.list(id, params, era, asking),
            Asked::Initialize(params) => self.initialize(id, params),
            Asked::Discover(_) => Reply::result(id, &self.discover),
            Asked::Ping(_) if era == Era::Legacy => Reply::result(id, b"{}"),
            Asked::Ping(_) | Asked::Other(_) => {
                Reply::error(id, ProtocolError::MethodNotFound, "there is no such method", None)
            }
        }
    }

    fn initialize(&self, id: Id<'_>, params: &InitializeParams<'_>) -> Reply {
        let agreed = negotiate(&params.protocol_version);
        let result = self.initialize.iter().find(|(version, _)| *version == agreed);
        Reply::result(id, result.map(|(_, result)| result.as_slice()).unwrap_or(b"{}"))
    }

    /// The result of `initialize` for the newest revision that has it.
    pub(crate) fn initialized(&self) -> &[u8] {
        self.initialize.last().map(|(_, result)| result.as_slice()).unwrap_or_default()
    }

    fn list(&self, id: Id<'_>, params: &ListParams<'_>, era: Era, asking: &Asking) -> Reply {
        let visible = self.catalogue.visible(asking.caller());
        match visible.listing(era).page(params.cursor.as_deref()) {
            Some(page) => Reply::result(id, page),
            None => Reply::error(id, ProtocolError::InvalidParams, "the cursor is not one of this list", None),
        }
    }
}
