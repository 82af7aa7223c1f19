//! Web pages of other origins: which may call, and what they are told.
//!
//! By hand, and not by a layer around everything: which origins are allowed is also what
//! decides whose page [acts as its visitor](crate::request::page_origin), and a route knows its own methods.

use axum::{
    http::{HeaderValue, Method, header, request::Parts},
    response::Response,
};

/// What a page may send.
const SENT: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, idempotency-key, if-none-match, last-event-id, mcp-method, mcp-name, mcp-protocol-version, \
     mcp-session-id, redress-deadline-ms, traceparent, tracestate, x-request-id",
);
/// What a page may see of an answer.
const SEEN: HeaderValue = HeaderValue::from_static(
    "deprecation, etag, link, mcp-session-id, ratelimit, ratelimit-policy, redress-output-breach, retry-after, sunset, www-authenticate, x-request-id",
);
/// For how many seconds a page need not ask again.
const LASTS: HeaderValue = HeaderValue::from_static("600");

/// The origins whose pages may call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    named: Vec<String>,
    all: bool,
}

impl Origins {
    pub(crate) fn new(origins: impl Iterator<Item = String>) -> Origins {
        let (all, named): (Vec<_>, Vec<_>) = origins.partition(|origin| origin == "*");
        Origins { named: named.into_iter().map(plain).collect(), all: !all.is_empty() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.all
    }

    /// The origins as they were given: by their names, and `*` for all of them.
    #[cfg(feature = "mcp")]
    pub(crate) fn given(&self) -> impl Iterator<Item = String> {
        self.named.iter().cloned().chain(self.all.then(|| "*".to_owned()))
    }

    /// Whether a page of this origin may call.
    fn allow(&self, origin: &HeaderValue) -> bool {
        self.all || self.names(origin)
    }

    /// Whether pages of all origins may call.
    pub(crate) fn allows_all(&self) -> bool {
        self.all
    }

    /// Whether this origin is one of those by name.
    pub(crate) fn names(&self, origin: &HeaderValue) -> bool {
        self.named.iter().any(|named| named.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    }

    /// The origin that the message comes from, if pages of it may call.
    pub(crate) fn of(&self, parts: &Parts) -> Option<HeaderValue> {
        if self.is_empty() {
            return None;
        }
        parts.headers.get(header::ORIGIN).filter(|origin| self.allow(origin)).cloned()
    }
}

fn plain(origin: String) -> String {
    origin.trim_end_matches('/').to_owned()
}

/// Whether a browser asks for what it may send.
pub(crate) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Tells the page of `origin` that it may see the answer; where none may, that another might.
pub(crate) fn tell(origin: Option<HeaderValue>, preflight: bool, response: &mut Response) {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let Some(origin) = origin else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    if !preflight {
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SEEN);
        return;
    }
    if let Some(methods) = headers.get(header::ALLOW).cloned() {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, SENT);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, LASTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redress_wire::{http::header as own, mcp::header as mcp};

    #[test]
    fn what_a_page_may_send_is_what_is_read() {
        let mcp = [mcp::METHOD, mcp::NAME, mcp::PROTOCOL_VERSION, mcp::SESSION_ID];
        let own = [
            own::DEADLINE_MS,
            own::IDEMPOTENCY_KEY,
            own::LAST_EVENT_ID,
            own::REQUEST_ID,
            own::TRACEPARENT,
            own::TRACESTATE,
        ];
        for name in own.into_iter().chain(mcp) {
            assert!(SENT.to_str().unwrap().split(", ").any(|sent| sent == name), "{name}");
        }
    }
}
