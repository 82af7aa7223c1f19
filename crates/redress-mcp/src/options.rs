//! What can be set of the face.

use std::time::Duration;

use redress_contract::{OperationDeclaration, ProgramInfo, Role, Shape};
use redress_core::{Registry, Secret, Shown};
use redress_wire::mcp::{CacheScope, Caching, OutputForm, ServerInfo};

use crate::{DroppedFields, Profile};

/// What can be set of the face.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpOptions {
    /// What the server is called, for programs.
    pub name: String,
    /// What people call it, where that is not its name.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What it is for; clients hand it to the model.
    pub description: Option<String>,
    /// How outputs and their schemas are carried.
    pub form: OutputForm,
    /// Which operations are shown; all that are external, where nothing is said.
    pub profile: Option<Profile>,
    /// Above how many tools four tools are listed in their place, which find and call them.
    pub discovery_above: usize,
    /// How many tools one page of the list holds. Some clients read the first page only, so it
    /// is more than [`discovery_above`](McpOptions::discovery_above) by default.
    pub page: usize,
    /// For how many milliseconds clients may keep a list.
    pub ttl_ms: u64,
    /// Whether subscriptions are tools. A quiet one holds its caller until a bound is met, and many hosts give up sooner.
    pub subscriptions: bool,
    /// How much of a stream becomes the result of a call, where subscriptions are tools.
    pub stream: StreamBounds,
    /// Fields that hosts add to the arguments of every tool, besides [`HOST_FIELDS`](crate::HOST_FIELDS). Where an
    /// operation does not know them they are dropped.
    pub host_fields: Vec<String>,
    /// How many of those were dropped.
    pub dropped_fields: DroppedFields,
    /// How many requests of one standard input run at once.
    pub in_flight: usize,
    /// What the state of a call that asks is sealed with, at least 32 bytes. Nodes that serve one
    /// client in turn need the same; without one, each process makes its own.
    pub state_key: Option<Secret>,
    /// For how long a call that asks may be gone on with.
    pub state_lasts: Duration,
}

/// How much of a stream becomes the result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamBounds {
    /// The most items.
    pub items: usize,
    /// The most bytes of JSON.
    pub bytes: usize,
    /// The most time, or the operation's deadline where that is shorter. Many hosts give up after five seconds.
    pub time: Duration,
}

impl Default for McpOptions {
    fn default() -> McpOptions {
        McpOptions {
            name: "redress".to_owned(),
            title: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: None,
            form: OutputForm::default(),
            profile: None,
            discovery_above: 200,
            page: 250,
            ttl_ms: 300_000,
            subscriptions: false,
            stream: StreamBounds { items: 1_000, bytes: 256 * 1024, time: Duration::from_secs(4) },
            host_fields: Vec::new(),
            dropped_fields: DroppedFields::default(),
            in_flight: 256,
            state_key: None,
            state_lasts: Duration::from_secs(3600),
        }
    }
}

impl McpOptions {
    /// Says what the program says of itself.
    #[must_use]
    pub fn with_program(mut self, info: &ProgramInfo) -> McpOptions {
        info.name().clone_into(&mut self.name);
        self.title = info.has_title().then(|| info.title().to_owned());
        info.version().clone_into(&mut self.version);
        self.description = info.description().map(str::to_owned);
        self
    }

    pub(crate) fn info(&self) -> ServerInfo {
        ServerInfo {
            name: self.name.clone(),
            title: self.title.clone(),
            version: self.version.clone(),
            description: self.description.clone(),
        }
    }

    /// Whether, and as what, the operation is shown: prompts and documents have lists of their own, and are no tools.
    pub(crate) fn shows(&self, operation: &OperationDeclaration) -> Shown {
        match operation.role() {
            _ if !operation.is_external() || !self.holds(operation) => Shown::No,
            Role::Plain => Shown::Callable,
            Role::Prompt | Role::Resource { .. } => Shown::Listed,
        }
    }

    fn holds(&self, operation: &OperationDeclaration) -> bool {
        // What is for persons is no tool, prompt or document of an agent, whatever a profile says.
        !operation.access().is_for_persons()
            && (self.subscriptions || operation.shape() != Shape::Subscription)
            && self.profile.as_ref().is_none_or(|profile| profile.holds(operation.name()))
    }

    /// How long lists may be kept, and by whom: where some operation is not open to everyone,
    /// lists differ from caller to caller.
    pub(crate) fn caching(&self, registry: &Registry) -> Caching {
        let mut external = registry.contract().operations().iter().filter(|operation| operation.is_external());
        let open = external.all(|operation| operation.access().admit(None).is_ok());
        let scope = if open { CacheScope::Public } else { CacheScope::Private };
        Caching { ttl_ms: self.ttl_ms, scope }
    }
}
