//! The revisions of the protocol, and the words that its messages share.

/// The two ways in which clients speak: with a handshake, or with each request on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Up to 2025-11-25: `initialize` settles the version for what follows.
    Legacy,
    /// From 2026-07-28 on: each request says which version it speaks.
    Modern,
}

/// Every revision that is served, oldest first.
pub const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", LATEST_LEGACY, MODERN];
/// The newest revision with a handshake.
pub const LATEST_LEGACY: &str = "2025-11-25";
/// The revision in which each request stands on its own.
pub const MODERN: &str = "2026-07-28";

impl Era {
    /// The era of a revision that is served.
    pub fn of(version: &str) -> Option<Era> {
        match version {
            MODERN => Some(Era::Modern),
            _ if VERSIONS.contains(&version) => Some(Era::Legacy),
            _ => None,
        }
    }
}

/// The revision that `initialize` agrees to: the one that was asked for where it is served and
/// has a handshake, else the newest that has one.
///
/// ```
/// use redress_wire::mcp::negotiate;
///
/// assert_eq!(negotiate("2025-06-18"), "2025-06-18");
/// assert_eq!(negotiate("2026-07-28"), "2025-11-25");
/// ```
pub fn negotiate(requested: &str) -> &'static str {
    VERSIONS.into_iter().find(|version| *version == requested && *version != MODERN).unwrap_or(LATEST_LEGACY)
}

/// The methods that are answered.
pub mod method {
    /// Opens a session of the legacy era.
    pub const INITIALIZE: &str = "initialize";
    /// Asks whether anybody is there.
    pub const PING: &str = "ping";
    /// Tells what the server is and can, in the modern era.
    pub const DISCOVER: &str = "server/discover";
    /// Lists the tools.
    pub const TOOLS_LIST: &str = "tools/list";
    /// Calls a tool.
    pub const TOOLS_CALL: &str = "tools/call";
    /// Lists the prompts.
    pub const PROMPTS_LIST: &str = "prompts/list";
    /// Gives the messages of a prompt.
    pub const PROMPTS_GET: &str = "prompts/get";
    /// Lists the documents.
    pub const RESOURCES_LIST: &str = "resources/list";
    /// Lists the templates of documents.
    pub const RESOURCE_TEMPLATES_LIST: &str = "resources/templates/list";
    /// Gives a document.
    pub const RESOURCES_READ: &str = "resources/read";
    /// Asks to be told when a document changes, in the legacy era.
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    /// Asks not to be told any more, in the legacy era.
    pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
    /// Says what an argument may be.
    pub const COMPLETE: &str = "completion/complete";
    /// Says which notes are wanted, in the legacy era.
    pub const SET_LEVEL: &str = "logging/setLevel";
    /// Opens a stream of what changes, in the modern era.
    pub const LISTEN: &str = "subscriptions/listen";
    /// Asks the person behind the client.
    pub const ELICIT: &str = "elicitation/create";
    /// Asks the model behind the client.
    pub const SAMPLE: &str = "sampling/createMessage";
    /// Asks where the client works.
    pub const ROOTS: &str = "roots/list";
    /// Says that a session of the legacy era has begun.
    pub const INITIALIZED: &str = "notifications/initialized";
    /// Notes something for the client.
    pub const NOTE: &str = "notifications/message";
    /// Says that the tools are others.
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    /// Says that the prompts are others.
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    /// Says that the documents are others.
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    /// Says that a document is not what it was.
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
    /// Says which changes a stream will tell.
    pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    /// Calls a request off.
    pub const CANCELLED: &str = "notifications/cancelled";
    /// Tells how far a request has come.
    pub const PROGRESS: &str = "notifications/progress";
}

/// The headers of the protocol over HTTP.
pub mod header {
    /// The revision that the message speaks.
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    /// The method in the body, for those on the way who do not read it.
    pub const METHOD: &str = "mcp-method";
    /// The tool, prompt or resource in the body.
    pub const NAME: &str = "mcp-name";
    /// The session of a legacy client.
    pub const SESSION_ID: &str = "mcp-session-id";
}
