//! Where each face is, for the first screen of `serve`.

/// A face: what it is called, the scheme of its address, and its path.
pub(crate) struct Face {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    scheme: &'static str,
    path: &'static str,
}

/// Every face, in the order in which people look for them.
pub(crate) const FACES: [Face; 9] = [
    Face { name: "HTTP", key: "operations", scheme: "http", path: "/ops/{namespace}/{name}" },
    Face { name: "any call", key: "call", scheme: "http", path: "/call" },
    Face { name: "streams", key: "subscribe", scheme: "http", path: "/subscribe" },
    Face { name: "JSON-RPC", key: "rpc", scheme: "http", path: "/rpc" },
    Face { name: "WebSocket", key: "ws", scheme: "ws", path: "/ws" },
    Face { name: "MCP", key: "mcp", scheme: "http", path: "/mcp" },
    Face { name: "OpenAPI", key: "openapi", scheme: "http", path: "/openapi.json" },
    Face { name: "error pages", key: "errors", scheme: "http", path: "/errors" },
    Face { name: "health", key: "health", scheme: "http", path: "/healthz" },
];

impl Face {
    /// Its address on the server at `authority`, by TLS or not.
    pub(crate) fn url(&self, secure: bool, authority: &str) -> String {
        let ending = if secure { "s" } else { "" };
        format!("{}{ending}://{authority}{}", self.scheme, self.path)
    }
}
