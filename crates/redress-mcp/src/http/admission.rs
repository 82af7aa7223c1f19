//! What a message over HTTP has to be before it is read: sent by whom it may be, and JSON.
//!
//! A web page can make its visitor's browser send messages to servers of the visitor's own
//! machine. It gives itself away by where it was loaded from (`Origin`: CSRF), or by the name that it
//! made the machine answer to (`Host`: DNS rebinding).

use ::http::{HeaderMap, HeaderValue, header, request::Parts, uri::Authority};
use redress_wire::http::is_local_authority;

use super::{HttpOptions, PageTrust, SentByTls};
use crate::refusal::Unfit;

/// Lets a message in, or says why not.
pub(super) fn admit(options: &HttpOptions, parts: &Parts) -> Result<(), Unfit> {
    let host = authority(parts);
    let known = |authority: &str| {
        let port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let bare = authority.rsplit_once(':').filter(|(_, after)| port(after)).map_or(authority, |(host, _)| host);
        let named = |allowed: &String| allowed.eq_ignore_ascii_case(authority) || allowed.eq_ignore_ascii_case(bare);
        is_local_authority(authority) || options.allowed_hosts.iter().any(named)
    };
    if !options.guarded && !host.as_deref().is_some_and(known) {
        return Err(Unfit::Host);
    }
    let admitted = match parts.extensions.get::<PageTrust>() {
        Some(page) => *page == PageTrust::Admitted,
        None => parts.headers.get_all(header::ORIGIN).iter().all(|origin| is_own(origin, host.as_deref(), parts)),
    };
    if admitted {
        return Ok(());
    }
    // A page may be foreign by more than its origin, but not one that stands here by its name.
    let allowed = |origin: &HeaderValue| {
        options
            .allowed_origins
            .iter()
            .any(|allowed| allowed == "*" || origin.as_bytes().eq_ignore_ascii_case(allowed.as_bytes()))
    };
    let mut origins = parts.headers.get_all(header::ORIGIN).iter().peekable();
    let named = origins.peek().is_some() && origins.all(allowed);
    if named { Ok(()) } else { Err(Unfit::Page) }
}

/// Whether the page is of this very server: of the same scheme, name and port.
fn is_own(origin: &HeaderValue, host: Option<&str>, parts: &Parts) -> bool {
    let scheme = if parts.extensions.get::<SentByTls>().is_some() { "https" } else { "http" };
    let page = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    page.zip(host)
        .is_some_and(|((of, authority), host)| of.eq_ignore_ascii_case(scheme) && authority.eq_ignore_ascii_case(host))
}

/// What the caller calls the server: `host` or `host:port`.
pub(super) fn authority(parts: &Parts) -> Option<String> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let said = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok()?.parse::<Authority>().ok()?,
        (None, _) => parts.uri.authority()?.clone(),
        // Whoever stands in front may have gone by the other one.
        (Some(_), Some(_)) => return None,
    };
    // No name of a server has a user in it (RFC 9110), and readers differ about which half the name is.
    (!said.as_str().contains('@')).then(|| said.as_str().to_owned())
}

/// What an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepts {
    /// JSON and nothing else.
    Json,
    /// Anything: an event stream only where something was asked for that needs one.
    Anything,
    /// An event stream, by its name.
    EventStream,
}

impl Accepts {
    pub(super) fn of(headers: &HeaderMap) -> Accepts {
        let mut accepts = Accepts::Json;
        let mut said = headers.get_all(header::ACCEPT).iter().peekable();
        if said.peek().is_none() {
            return Accepts::Anything;
        }
        for media in said.filter_map(|said| said.to_str().ok()).flat_map(|said| said.split(',')) {
            let mut parameters = media.split(';').map(str::trim);
            let media = parameters.next().unwrap_or_default();
            if parameters.any(is_zero) {
                continue;
            }
            if ["text/event-stream", "text/*"].iter().any(|stream| media.eq_ignore_ascii_case(stream)) {
                return Accepts::EventStream;
            }
            if media == "*/*" {
                accepts = Accepts::Anything;
            }
        }
        accepts
    }
}

/// Whether a parameter of a media range says that the range is not wanted.
fn is_zero(parameter: &str) -> bool {
    let weight = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight == 0.0))
}

/// Whether the message claims to be JSON, and takes JSON for an answer.
pub(super) fn negotiate(headers: &HeaderMap) -> Result<(), Unfit> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let essence = |media: &str| media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match text(header::CONTENT_TYPE) {
        Some("application/json") => {}
        Some(media) if essence(media) == "application/json" => {}
        Some(_) | None => return Err(Unfit::ContentType),
    }
    let takes = |media: &str| {
        let media = media.split(';').next().unwrap_or_default().trim();
        ["application/json", "*/*", "application/*"].iter().any(|taken| media.eq_ignore_ascii_case(taken))
    };
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    let anything = accepted.peek().is_none();
    if anything || accepted.any(|accept| accept.to_str().is_ok_and(|accept| accept.split(',').any(takes))) {
        return Ok(());
    }
    Err(Unfit::Accept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let request =
            headers.iter().fold(::http::Request::post("/mcp"), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    fn admitted(options: &HttpOptions, headers: &[(&str, &str)]) -> bool {
        admit(options, &parts(headers)).is_ok()
    }

    #[test]
    fn only_names_of_this_machine_are_answered_where_nothing_tells_who_calls() {
        let local = HttpOptions::default();
        for host in ["127.0.0.1:7717", "localhost", "[::1]:80", "a.localhost:1"] {
            assert!(admitted(&local, &[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "localhost.evil.example",
            "x@127.0.0.1:9@evil.example",
            "localhost:abc",
            "localhost:80:80",
            "[::1",
            "[::1]evil.example",
        ] {
            assert!(!admitted(&local, &[("host", host)]), "{host}");
        }
        assert!(!admitted(&local, &[]) && !admitted(&local, &[("host", "user@localhost")]));
        assert!(!admitted(&local, &[("host", "localhost"), ("host", "evil.example")]));
        let named = HttpOptions { allowed_hosts: vec!["mcp.example.com".to_owned()], ..HttpOptions::default() };
        assert!(admitted(&named, &[("host", "mcp.example.com:8443")]));
        assert!(!admitted(&named, &[("host", "mcp.example.com:x")]));
    }

    #[test]
    fn an_event_stream_is_for_whoever_names_it() {
        let accepts = |accept: &[(&str, &str)]| Accepts::of(&parts(accept).headers);
        assert_eq!(accepts(&[]), Accepts::Anything);
        assert_eq!(accepts(&[("accept", "*/*")]), Accepts::Anything);
        assert_eq!(accepts(&[("accept", "application/json")]), Accepts::Json);
        assert_eq!(accepts(&[("accept", "application/json, text/Event-Stream;q=0.5")]), Accepts::EventStream);
        assert_eq!(accepts(&[("accept", "application/json"), ("accept", "text/event-stream")]), Accepts::EventStream);
        assert_eq!(accepts(&[("accept", "application/json, text/event-streams")]), Accepts::Json);
        assert_eq!(accepts(&[("accept", "application/json, text/event-stream; q=0")]), Accepts::Json);
        assert_eq!(accepts(&[("accept", "text/event-stream;Q=0.000, */*")]), Accepts::Anything);
    }

    #[test]
    fn a_page_of_another_origin_may_not_call() {
        let guarded = HttpOptions { guarded: true, ..HttpOptions::default() };
        let from = |origin| admitted(&guarded, &[("host", "mcp.example.com"), ("origin", origin)]);
        assert!(from("http://mcp.example.com") && from("HTTP://MCP.example.com"));
        for origin in [
            "https://mcp.example.com",
            "http://mcp.example.com:81",
            "http://localhost:3000",
            "http://127.0.0.1",
            "https://evil.example",
            "null",
            "",
            "http://mcp.example.com.evil.example",
            "http://user@mcp.example.com",
        ] {
            assert!(!from(origin), "{origin}");
        }
        let mut secure = parts(&[("host", "mcp.example.com"), ("origin", "https://mcp.example.com")]);
        secure.extensions.insert(SentByTls);
        assert!(admit(&guarded, &secure).is_ok());
        let twice = [("host", "a"), ("origin", "http://a"), ("origin", "https://evil.example")];
        assert!(!admitted(&guarded, &twice), "what is said twice is as bad as its worse half");
        let open = HttpOptions { allowed_origins: vec!["https://app.example.com".to_owned()], ..guarded.clone() };
        assert!(admitted(&open, &[("host", "mcp.example.com"), ("origin", "https://app.example.com")]));
        assert!(!admitted(&open, &[("host", "a"), ("origin", "https://app.example.com"), ("origin", "null")]));
        // Whoever judges for all faces is believed, and what is allowed here is allowed in any case.
        let judged = |page: PageTrust, origin: &str| {
            let mut parts = parts(&[("host", "mcp.example.com"), ("origin", origin)]);
            parts.extensions.insert(page);
            admit(&open, &parts).is_ok()
        };
        assert!(
            judged(PageTrust::Admitted, "https://other.example")
                && judged(PageTrust::Foreign, "https://app.example.com")
        );
        assert!(!judged(PageTrust::Foreign, "http://mcp.example.com"));
    }
}
