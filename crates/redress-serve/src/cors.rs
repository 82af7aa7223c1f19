//! Web pages of other origins: which may call, and what they are told.
//!
//! By hand, and not by a layer around everything: which origins are allowed is also what
//! decides whose page may use its visitor's certificate, and a route knows its own methods.

use axum::{
    http::{HeaderMap, HeaderValue, Method, header, request::Parts},
    response::Response,
};

/// What a page may send.
const SENT: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, idempotency-key, last-event-id, mcp-protocol-version, mcp-session-id, \
     redress-deadline-ms, traceparent, tracestate, x-request-id",
);
/// What a page may see of an answer.
const SEEN: HeaderValue = HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate, x-request-id");
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

    /// The origins by their names.
    #[cfg(feature = "mcp")]
    pub(crate) fn named(&self) -> &[String] {
        &self.named
    }

    /// Whether a page of this origin may call.
    fn allow(&self, origin: &HeaderValue) -> bool {
        self.all || self.names(origin)
    }

    /// Whether this origin is one of those by name.
    fn names(&self, origin: &HeaderValue) -> bool {
        self.named.iter().any(|named| named.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    }

    /// The origin that the message comes from, if pages of it may call.
    pub(crate) fn of(&self, parts: &Parts) -> Option<HeaderValue> {
        if self.is_empty() {
            return None;
        }
        parts.headers.get(header::ORIGIN).filter(|origin| self.allow(origin)).cloned()
    }

    /// Whether the message is of a web page that may not act as its visitor: one of another
    /// origin that nobody has named. That all may call does not make them all act for others.
    pub(crate) fn is_foreign(&self, headers: &HeaderMap) -> bool {
        if let Some(origin) = headers.get(header::ORIGIN) {
            return !(self.names(origin) || is_own(origin, headers));
        }
        headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
    }
}

/// Whether the page is of this very server.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    matches!((authority, host), (Some(authority), Some(host)) if authority.eq_ignore_ascii_case(host))
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
    use axum::http::HeaderName;
    use redress_wire::http::header as own;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn what_a_page_may_send_is_what_is_read() {
        for name in [own::DEADLINE_MS, own::IDEMPOTENCY_KEY, own::LAST_EVENT_ID, own::REQUEST_ID, own::TRACEPARENT] {
            assert!(SENT.to_str().unwrap().split(", ").any(|sent| sent == name), "{name}");
        }
    }

    #[test]
    fn only_pages_that_are_named_or_our_own_act_as_their_visitor() {
        let named = Origins::new(["https://app.example/".to_owned()].into_iter());
        let all = Origins::new(["*".to_owned()].into_iter());
        let host = ("host", "api.example");
        for (foreign, said) in [
            (false, vec![host]),
            (false, vec![host, ("origin", "https://app.example")]),
            (false, vec![host, ("origin", "https://api.example"), ("sec-fetch-site", "same-origin")]),
            (false, vec![host, ("sec-fetch-site", "none")]),
            (true, vec![host, ("origin", "https://evil.example")]),
            (true, vec![host, ("origin", "null")]),
            (true, vec![host, ("sec-fetch-site", "cross-site")]),
            (true, vec![host, ("sec-fetch-site", "same-site")]),
            (true, vec![("origin", "https://api.example")]),
        ] {
            assert_eq!(named.is_foreign(&headers(&said)), foreign, "{said:?}");
        }
        assert!(all.is_foreign(&headers(&[host, ("origin", "https://app.example")])));
    }
}
