//! The way by which a call came in.

/// The way by which a call came in. It changes nothing about a call that there is; records name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Face {
    /// Handed to the registry by a program of its own.
    #[default]
    Process,
    /// HTTP, one path for each operation or `/call` and its kin.
    Http,
    /// JSON-RPC.
    JsonRpc,
    /// A WebSocket.
    WebSocket,
    /// The Model Context Protocol.
    Mcp,
    /// The terminal.
    Command,
}

impl Face {
    /// Whether agents come this way, with a person behind them at best. Operations that are for
    /// [persons alone](redress_contract::Access::is_for_persons) do not exist here, whatever scopes the caller has.
    pub const fn is_for_agents(self) -> bool {
        match self {
            Face::Mcp => true,
            Face::Process | Face::Http | Face::JsonRpc | Face::WebSocket | Face::Command => false,
        }
    }

    /// Every face.
    pub const ALL: [Face; 6] = [Face::Process, Face::Http, Face::JsonRpc, Face::WebSocket, Face::Mcp, Face::Command];

    /// Its name in records, metrics and the access log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Face::Process => "process",
            Face::Http => "http",
            Face::JsonRpc => "jsonrpc",
            Face::WebSocket => "websocket",
            Face::Mcp => "mcp",
            Face::Command => "command",
        }
    }
}

impl std::fmt::Display for Face {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
