//! What a message over HTTP has to be before it is read: sent by whom it may be, and JSON.
//!
//! A web page can make its visitor's browser send messages to servers of the visitor's own
//! machine. It gives itself away by where it was loaded from (`Origin`), or by the name that it
//! made the machine answer to (`Host`).

use std::net::IpAddr;

use ::http::{HeaderMap, StatusCode, header, request::Parts, uri::Authority};

use super::HttpOptions;

/// Lets a message in, or says why not.
pub(super) fn admit(options: &HttpOptions, parts: &Parts) -> Result<(), &'static str> {
    let host = authority(parts);
    let known = |authority: &str| {
        let bare = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        let named = |allowed: &String| allowed.eq_ignore_ascii_case(authority) || allowed.eq_ignore_ascii_case(bare);
        is_local(authority) || options.allowed_hosts.iter().any(named)
    };
    if !options.guarded && !host.as_deref().is_some_and(known) {
        return Err("the server is not known by this name");
    }
    let Some(origin) = parts.headers.get(header::ORIGIN) else { return Ok(()) };
    let Ok(origin) = origin.to_str() else { return Err("the origin cannot be read") };
    let page = origin.split_once("://").map(|(_, authority)| authority);
    let own = page.is_some() && page == host.as_deref();
    let allowed = options.allowed_origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin));
    if own || allowed || page.is_some_and(is_local) { Ok(()) } else { Err("pages of this origin may not call") }
}

/// What the caller calls the server: `host` or `host:port`.
pub(super) fn authority(parts: &Parts) -> Option<String> {
    let said = match parts.headers.get(header::HOST) {
        Some(host) => host.to_str().ok()?.parse::<Authority>().ok()?,
        None => parts.uri.authority()?.clone(),
    };
    // What stands before an `@` is no part of the name.
    Some(said.as_str().rsplit('@').next().unwrap_or_default().to_owned())
}

/// Whether `host` or `host:port` is a name of this machine that no other can have.
fn is_local(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Whether the message claims to be JSON, and takes JSON for an answer.
pub(super) fn negotiate(headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let essence = |media: &str| media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match text(header::CONTENT_TYPE) {
        Some("application/json") => {}
        Some(media) if essence(media) == "application/json" => {}
        Some(_) | None => return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the message has to be application/json")),
    }
    let takes = |media: &str| matches!(essence(media).as_str(), "application/json" | "application/*" | "*/*");
    match text(header::ACCEPT) {
        None => Ok(()),
        Some(accept) if accept.starts_with("application/json") || accept.split(',').any(takes) => Ok(()),
        Some(_) => Err((StatusCode::NOT_ACCEPTABLE, "the answer is application/json, or text/event-stream")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(options: &HttpOptions, headers: &[(&str, &str)]) -> bool {
        let request =
            headers.iter().fold(::http::Request::post("/mcp"), |request, (name, value)| request.header(*name, *value));
        admit(options, &request.body(()).unwrap().into_parts().0).is_ok()
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
        ] {
            assert!(!admitted(&local, &[("host", host)]), "{host}");
        }
        assert!(!admitted(&local, &[]));
        let named = HttpOptions { allowed_hosts: vec!["mcp.example.com".to_owned()], ..HttpOptions::default() };
        assert!(admitted(&named, &[("host", "mcp.example.com:8443")]));
    }

    #[test]
    fn a_page_of_another_origin_may_not_call() {
        let guarded = HttpOptions { guarded: true, ..HttpOptions::default() };
        let from = |origin| admitted(&guarded, &[("host", "mcp.example.com"), ("origin", origin)]);
        assert!(from("https://mcp.example.com") && from("http://localhost:3000"));
        assert!(!from("https://evil.example") && !from("null") && !from("https://mcp.example.com.evil.example"));
        let open = HttpOptions { allowed_origins: vec!["https://app.example.com".to_owned()], ..guarded.clone() };
        assert!(admitted(&open, &[("host", "mcp.example.com"), ("origin", "https://app.example.com")]));
    }
}
