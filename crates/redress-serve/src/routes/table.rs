//! The fixed paths: a row for each, with its methods and what answers there.

use axum::http::Method;

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Operation,
    Operations,
    Call,
    Batch,
    Subscribe,
    Rpc,
    Document,
    Errors,
    Home,
    Health,
    Ready,
    Metrics,
    WebSocket,
    Mcp,
    ResourceMetadata,
}

/// What a path takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Methods {
    Read,
    Post,
    ReadOrPost,
    /// A handshake, which has no answer to be headed.
    Upgrade,
    /// Those of MCP over HTTP, which answers the others itself.
    Mcp,
}

impl Methods {
    /// As the header `Allow` names them.
    pub(crate) const fn allow(self) -> &'static str {
        match self {
            Methods::Read => "GET, HEAD, OPTIONS",
            Methods::Post => "OPTIONS, POST",
            Methods::ReadOrPost => "GET, HEAD, OPTIONS, POST",
            Methods::Upgrade => "GET, OPTIONS",
            Methods::Mcp => "DELETE, GET, OPTIONS, POST",
        }
    }

    /// Whether a message with this method is for the route.
    pub(crate) fn hold(self, method: &Method) -> bool {
        let reads = || *method == Method::GET || *method == Method::HEAD;
        match self {
            Methods::Read => reads(),
            Methods::Post => *method == Method::POST,
            Methods::ReadOrPost => *method == Method::POST || reads(),
            Methods::Upgrade => *method == Method::GET,
            Methods::Mcp => *method != Method::OPTIONS,
        }
    }
}

/// One path.
#[derive(Debug)]
pub(crate) struct RouteRow {
    /// As a router has it.
    pub(crate) path: &'static str,
    /// What a path begins with that is led here, where it is no single one.
    below: Option<&'static str>,
    pub(crate) methods: Methods,
    pub(crate) route: Route,
}

const fn at(path: &'static str, methods: Methods, route: Route) -> RouteRow {
    RouteRow { path, below: None, methods, route }
}

const fn below(prefix: &'static str, path: &'static str, methods: Methods, route: Route) -> RouteRow {
    RouteRow { path, below: Some(prefix), methods, route }
}

/// Every path that is served here, the most frequent first.
pub(crate) static ROUTES: [RouteRow; 19] = [
    below("/ops/", "/ops/{*name}", Methods::ReadOrPost, Route::Operation),
    at("/rpc", Methods::Post, Route::Rpc),
    at("/mcp", Methods::Mcp, Route::Mcp),
    at("/call", Methods::Post, Route::Call),
    at("/batch", Methods::Post, Route::Batch),
    at("/subscribe", Methods::Post, Route::Subscribe),
    at("/ws", Methods::Upgrade, Route::WebSocket),
    at("/healthz", Methods::Read, Route::Health),
    at("/readyz", Methods::Read, Route::Ready),
    at("/metrics", Methods::Read, Route::Metrics),
    at("/ops", Methods::Read, Route::Operations),
    at("/openapi.json", Methods::Read, Route::Document),
    at("/openrpc.json", Methods::Read, Route::Document),
    at("/contract.json", Methods::Read, Route::Document),
    at("/errors", Methods::Read, Route::Errors),
    below("/errors/", "/errors/{code}", Methods::Read, Route::Errors),
    at("/", Methods::Read, Route::Home),
    at("/.well-known/oauth-protected-resource", Methods::Read, Route::ResourceMetadata),
    at("/.well-known/oauth-protected-resource/mcp", Methods::Read, Route::ResourceMetadata),
];

impl RouteRow {
    /// Where a path leads, in this build.
    pub(crate) fn of(path: &str) -> Option<&'static RouteRow> {
        let leads = |row: &&RouteRow| match row.below {
            Some(prefix) => path.starts_with(prefix),
            None => path == row.path,
        };
        ROUTES.iter().find(leads).filter(|row| row.is_built())
    }

    fn is_built(&self) -> bool {
        cfg!(feature = "mcp") || !matches!(self.route, Route::Mcp | Route::ResourceMetadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_row_and_nothing_near_it_does() {
        let route = |path: &str| RouteRow::of(path).map(|row| row.route);
        for row in ROUTES.iter().filter(|row| row.is_built()) {
            let path = row.path.replace("{*name}", "files/read").replace("{code}", "TIMEOUT");
            assert_eq!(route(&path), Some(row.route), "{path}");
        }
        for path in ["", "//", "/ops2", "/rpc/", "/Rpc", "/openapi.jso", "/errorsx", "/.well-known/"] {
            assert_eq!(route(path), None, "{path}");
        }
    }

    #[test]
    fn the_header_names_the_methods_that_are_taken() {
        for row in &ROUTES {
            for name in row.methods.allow().split(", ").filter(|name| *name != "OPTIONS") {
                let method = Method::from_bytes(name.as_bytes()).unwrap();
                assert!(row.methods.hold(&method), "{}: {name}", row.path);
            }
            assert!(!row.methods.hold(&Method::OPTIONS), "{}: it is answered for all alike", row.path);
        }
    }
}
