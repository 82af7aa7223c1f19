//! Where each face is, for the first screen of `serve`.

/// A face: what it is called, the scheme of its address, and its path.
pub(crate) struct FaceAddress {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    scheme: &'static str,
    path: &'static str,
}

/// Every face, in the order in which people look for them.
pub(crate) const FACES: [FaceAddress; 9] = [
    FaceAddress { name: "HTTP", key: "operations", scheme: "http", path: "/ops/{namespace}/{name}" },
    FaceAddress { name: "any call", key: "call", scheme: "http", path: "/call" },
    FaceAddress { name: "streams", key: "subscribe", scheme: "http", path: "/subscribe" },
    FaceAddress { name: "JSON-RPC", key: "rpc", scheme: "http", path: "/rpc" },
    FaceAddress { name: "WebSocket", key: "ws", scheme: "ws", path: "/ws" },
    FaceAddress { name: "MCP", key: "mcp", scheme: "http", path: "/mcp" },
    FaceAddress { name: "OpenAPI", key: "openapi", scheme: "http", path: "/openapi.json" },
    FaceAddress { name: "error pages", key: "errors", scheme: "http", path: "/errors" },
    FaceAddress { name: "health", key: "health", scheme: "http", path: "/healthz" },
];

impl FaceAddress {
    /// Its address on the server at `authority`, by TLS or not.
    pub(crate) fn url(&self, secure: bool, authority: &str) -> String {
        let ending = if secure { "s" } else { "" };
        format!("{}{ending}://{authority}{}", self.scheme, self.path)
    }
}
