//! Which web page a message comes from, as the browser that sends it tells.
//!
//! A browser sends what any page asks it to, from its user's machine and with its user's
//! certificate. That is what CSRF and cross-site WebSocket hijacking (CSWSH) live on, so what a
//! message is worth by where it comes from alone is decided here, for every face. `Origin` and
//! `Sec-Fetch-Site` are names that no page can set. DNS rebinding makes a page of elsewhere one of
//! this server's own; that it cannot be by the name that it uses for the server, which
//! [`is_own_name`] looks at.
//!
//! Why so: docs/decisions/0044-only-the-own-origin-is-local.md.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header};
use redress_wire::http::is_local_authority;

use crate::request::cors::Origins;

/// Where a browser says that a page is, seen from the server. Older browsers do not tell, nor do
/// any where the server's own name is not one that they trust.
pub(crate) const FETCH_SITE: &str = "sec-fetch-site";

/// Which web page a message comes from; of several that it names, the last of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageOrigin {
    /// One of this very server, or no page at all.
    #[default]
    Own,
    /// One of an origin that may call and is known by its name.
    Named,
    /// One of any other origin that may call: where all may, or where this server is known by
    /// another scheme than the one it speaks.
    Admitted,
    /// One that may not call.
    Foreign,
}

impl PageOrigin {
    /// Whether it acts as its visitor. That all pages may call does not make them all act for others.
    pub(crate) fn acts_as_visitor(self) -> bool {
        matches!(self, PageOrigin::Own | PageOrigin::Named)
    }

    /// Whether it may call, with a token of its own.
    pub(crate) fn may_call(self) -> bool {
        self != PageOrigin::Foreign
    }
}

impl Origins {
    /// Which page has sent a message with these headers. `secure` says whether it came by TLS.
    pub(crate) fn page(&self, headers: &HeaderMap, secure: bool) -> PageOrigin {
        let sites = headers.get_all(FETCH_SITE);
        let from_elsewhere = sites.iter().any(|site| site != "same-origin" && site != "none");
        let other = if self.allows_all() { PageOrigin::Admitted } else { PageOrigin::Foreign };
        let of = |origin: &HeaderValue| match host_of(origin, headers) {
            _ if self.names(origin) => PageOrigin::Named,
            Some(scheme) if !from_elsewhere && scheme == secure => PageOrigin::Own,
            // Whoever is on the way may have written a page that came without TLS. But a proxy that
            // is not known here may also be what speaks it.
            Some(_) if !from_elsewhere => PageOrigin::Admitted,
            Some(_) | None => other,
        };
        let pages = headers.get_all(header::ORIGIN).iter().map(of);
        pages.max().unwrap_or(if from_elsewhere { other } else { PageOrigin::Own })
    }
}

/// Whether the page came by TLS, if the host and the port of its origin are what its message calls
/// this server.
fn host_of(origin: &HeaderValue, headers: &HeaderMap) -> Option<bool> {
    let (scheme, authority) = origin.to_str().ok()?.split_once("://")?;
    let (secure, port) = if scheme.eq_ignore_ascii_case("https") {
        (true, ":443")
    } else if scheme.eq_ignore_ascii_case("http") {
        (false, ":80")
    } else {
        return None;
    };
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let bare = |authority| str::strip_suffix(authority, port).unwrap_or(authority);
    bare(authority).eq_ignore_ascii_case(bare(host)).then_some(secure)
}

/// Whether the message calls this machine by a name that no other can have. A page that was made
/// one of this server's own by DNS rebinding cannot: the browser puts the page's name here.
pub(crate) fn is_own_name(headers: &HeaderMap) -> bool {
    let own = |host: &HeaderValue| host.to_str().is_ok_and(is_local_authority);
    headers.get_all(header::HOST).iter().all(own)
}

pub(crate) fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    const HOST: (&str, &str) = ("host", "api.example");
    const CROSS: (&str, &str) = (FETCH_SITE, "cross-site");

    #[test]
    fn only_pages_that_are_named_or_our_own_act_as_their_visitor() {
        let named = Origins::new(["https://app.example/".to_owned()].into_iter());
        let all = Origins::new(["*".to_owned()].into_iter());
        for (page, said) in [
            (PageOrigin::Own, vec![HOST]),
            (PageOrigin::Own, vec![HOST, (FETCH_SITE, "none")]),
            (PageOrigin::Own, vec![HOST, ("origin", "https://api.example"), (FETCH_SITE, "same-origin")]),
            (PageOrigin::Own, vec![("host", "API.example:443"), ("origin", "https://api.example")]),
            (PageOrigin::Named, vec![HOST, ("origin", "https://app.example")]),
            (PageOrigin::Named, vec![HOST, ("origin", "https://app.example"), CROSS]),
            // Whoever can write a page of the same name without TLS is not the server.
            (PageOrigin::Admitted, vec![HOST, ("origin", "http://api.example")]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "http://api.example"), CROSS]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "https://api.example"), CROSS]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "https://api.example:8443")]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "https://evil.example")]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "https://api.example.evil.example")]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "https://user@api.example")]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "chrome-extension://api.example")]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "null")]),
            (PageOrigin::Foreign, vec![HOST, ("origin", "")]),
            (PageOrigin::Foreign, vec![HOST, CROSS]),
            (PageOrigin::Foreign, vec![HOST, (FETCH_SITE, "same-site")]),
            (PageOrigin::Foreign, vec![HOST, (FETCH_SITE, "Same-Origin")]),
            (PageOrigin::Foreign, vec![("origin", "https://api.example")]),
            // What is said twice is as bad as its worse half.
            (PageOrigin::Foreign, vec![HOST, ("origin", "https://api.example"), ("origin", "https://evil.example")]),
            (PageOrigin::Foreign, vec![HOST, (FETCH_SITE, "none"), CROSS]),
        ] {
            assert_eq!(named.page(&headers(&said), true), page, "{said:?}");
            let (acts, calls) = (page.acts_as_visitor(), page.may_call());
            assert_eq!((acts, calls), (page <= PageOrigin::Named, page <= PageOrigin::Admitted), "{said:?}");
        }
        assert_eq!(named.page(&headers(&[HOST, ("origin", "http://api.example")]), false), PageOrigin::Own);
        assert_eq!(all.page(&headers(&[HOST, ("origin", "https://app.example")]), true), PageOrigin::Admitted);
        assert_eq!(all.page(&headers(&[HOST, CROSS]), true), PageOrigin::Admitted);
    }

    #[test]
    fn only_a_name_that_no_other_machine_can_have_is_our_own() {
        for host in [
            "127.0.0.1:7717",
            "localhost",
            "LocalHost:80",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
            "a.localhost:1",
            "127.9.9.9",
        ] {
            assert!(is_own_name(&headers(&[("host", host)])), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:7717",
            "localhost.evil.example",
            "10.0.0.1",
            "0.0.0.0:7717",
            "[::]",
            "localhost@evil.example",
            "localhost:abc",
            "localhost:80:80",
            "[::1",
            "[::1]evil.example",
            "",
        ] {
            assert!(!is_own_name(&headers(&[("host", host)])), "{host}");
        }
        assert!(!is_own_name(&headers(&[("host", "localhost"), ("host", "evil.example")])));
    }
}
