//! Messages that come through proxies: who sent them, as far as it can be believed.
//!
//! Each proxy adds the address that it got the message from at the end. The last ones were
//! added by proxies that are trusted; the first address from the right that is none of theirs
//! is the caller's, and whatever stands before it is the caller's own invention.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};

use crate::Network;

const FOR: &str = "x-forwarded-for";
const PROTO: &str = "x-forwarded-proto";

/// Whether the header is one that a proxy adds, beside `Forwarded` and `Via`. None but these proxies
/// add anything of the kind, and no other word of theirs is believed.
pub(crate) fn is_added(name: &str) -> bool {
    name.starts_with("x-forwarded")
        || name.starts_with("tailscale-")
        || matches!(
            name,
            "x-real-ip"
                | "x-client-ip"
                | "x-cluster-client-ip"
                | "x-original-forwarded-for"
                | "x-original-host"
                | "x-envoy-external-address"
                | "true-client-ip"
                | "cf-connecting-ip"
                | "cdn-loop"
                | "x-azure-clientip"
                | "x-varnish"
                | "x-amzn-trace-id"
                | "x-appengine-user-ip"
                | "x-proxyuser-ip"
                | "forwarded-for"
                | "proxy-connection"
                | "max-forwards"
                | "fastly-client-ip"
                | "fly-client-ip"
                | "client-ip"
                | "do-connecting-ip"
                | "x-nf-client-connection-ip"
                | "x-vercel-forwarded-for"
                | "x-amz-cf-id"
                | "cloudfront-viewer-address"
        )
}

/// Where a message that came through proxies comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) by: Option<SocketAddr>,
    pub(crate) secure: bool,
}

/// What trusted proxies say about the message; nothing, if it does not come from one.
pub(crate) fn sent(proxies: &[Network], from: Option<SocketAddr>, headers: &HeaderMap) -> Option<Sent> {
    let trusted = |address: IpAddr| proxies.iter().any(|network| network.holds(address));
    if !from.is_some_and(|from| trusted(from.ip())) {
        return None;
    }
    let by_for = headers.contains_key(FOR).then(|| first_untrusted(listed(headers, FOR, plain), trusted));
    let by_forwarded = headers.contains_key(header::FORWARDED).then(|| {
        let elements = listed(headers, header::FORWARDED.as_str(), quoted);
        first_untrusted(elements.map(|element| parameter(element, "for").unwrap_or_default()), trusted)
    });
    // A proxy that adds the one may hand on the other as the caller wrote it, so where they
    // do not agree neither is believed.
    let by = match (by_for, by_forwarded) {
        (Some(one), Some(other)) if one != other => None,
        (Some(by), _) | (None, Some(by)) => by,
        (None, None) => from.map(|from| from.ip()),
    };
    let proto = listed(headers, PROTO, plain).next();
    let forwarded =
        listed(headers, header::FORWARDED.as_str(), quoted).next().and_then(|element| parameter(element, "proto"));
    let said = || [proto, forwarded].into_iter().flatten();
    let secure = said().next().is_some() && said().all(|proto| proto.eq_ignore_ascii_case("https"));
    Some(Sent { by: by.map(|by| SocketAddr::new(by, 0)), secure })
}

/// The first address that is not trusted, or the last that is. Something that is no address
/// hides whoever sent it.
fn first_untrusted<'a>(hops: impl Iterator<Item = &'a str>, trusted: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
    let mut by = None;
    for hop in hops {
        let address = address(hop)?;
        by = Some(address);
        if !trusted(address) {
            break;
        }
    }
    by
}

/// The members of a list header, the last of them first.
fn listed<'a>(
    headers: &'a HeaderMap,
    name: &'a str,
    members: fn(&'a str) -> Vec<&'a str>,
) -> impl Iterator<Item = &'a str> {
    let lines: Vec<_> = headers.get_all(name).into_iter().collect();
    lines.into_iter().rev().flat_map(move |line| members(line.to_str().unwrap_or_default()).into_iter().rev())
}

/// The members of a list in which quotes mean nothing: a caller who opens one must not hide what the
/// proxy adds behind it.
fn plain(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn quoted(line: &str) -> Vec<&str> {
    split(line, b',')
}

/// The parts between separators that stand in no quotes. A quote that is not closed holds all that
/// follows.
fn split(text: &str, separator: u8) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if byte == separator && !quoted => {
                parts.push(text[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// One parameter of an element of `Forwarded`. An element that is not well formed has none: a caller
/// who opens a quote (`for=1.1.1.1;x="`) would have what its proxy adds (`, for=203.0.113.7`) taken
/// for a part of its own element.
fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    for pair in split(element, b';') {
        let (key, value) = pair.split_once('=')?;
        let value = unquoted(value.trim())?;
        if key.trim().eq_ignore_ascii_case(name) && found.replace(value).is_some() {
            return None;
        }
    }
    found
}

/// The value, if it is one token or one quoted string. What is escaped is no address.
fn unquoted(value: &str) -> Option<&str> {
    let text = match value.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"')?,
        None => value,
    };
    (!text.contains(['"', '\\'])).then_some(text)
}

/// `10.0.0.1`, `10.0.0.1:5000`, `::1`, `[::1]` or `[::1]:5000`.
fn address(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let found = text.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()));
    found.or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn sent_by(from: &str, said: &[(&'static str, &'static str)]) -> Option<Sent> {
        let proxies = ["10.0.0.0/8", "127.0.0.1", "fd00::/8"].map(|network| network.parse().unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        sent(&proxies, from.parse().ok(), &headers)
    }

    #[test]
    fn the_caller_is_the_first_from_the_right_that_is_no_trusted_proxy() {
        let by = |said: &[_]| sent_by("127.0.0.1:9", said).unwrap().by.map(|by| by.ip().to_string());
        for (said, caller) in [
            (vec![(FOR, "203.0.113.7")], Some("203.0.113.7")),
            (vec![(FOR, "1.1.1.1, 203.0.113.7, 10.0.0.2")], Some("203.0.113.7")),
            (vec![(FOR, "1.1.1.1"), (FOR, "203.0.113.7")], Some("203.0.113.7")),
            (vec![(FOR, "10.0.0.3, 10.0.0.2")], Some("10.0.0.3")),
            (vec![(FOR, "203.0.113.7:4711, [fd00::1]:80")], Some("203.0.113.7")),
            (vec![(FOR, "203.0.113.7, nonsense")], None),
            (vec![(FOR, "")], None),
            (vec![("forwarded", "for=1.1.1.1, For=\"[2001:db8::7]:80\";proto=https")], Some("2001:db8::7")),
            (vec![("forwarded", "for=203.0.113.7, for=unknown")], None),
            (vec![("forwarded", "proto=https")], None),
            (vec![(FOR, "203.0.113.7"), ("forwarded", "for=203.0.113.7")], Some("203.0.113.7")),
            (vec![(FOR, "203.0.113.7"), ("forwarded", "for=1.1.1.1")], None),
            (vec![("forwarded", "for=203.0.113.7;by=\"a, for=1.1.1.1\"")], Some("203.0.113.7")),
            (vec![("forwarded", "for=\"a;b\\\", for=1.1.1.1\", for=203.0.113.7")], Some("203.0.113.7")),
            (vec![("forwarded", "for=\"1.1.1.1, for=203.0.113.7")], None),
            (vec![], Some("127.0.0.1")),
            // A proxy that adds to what the caller has forged: quotes, in either header.
            (vec![(FOR, "\"1.1.1.1, 203.0.113.7")], Some("203.0.113.7")),
            (vec![(FOR, "\", 203.0.113.7")], Some("203.0.113.7")),
            (vec![(FOR, "1.1.1.1, \"203.0.113.7\"")], None),
            (vec![("forwarded", "for=1.1.1.1;x=\", for=203.0.113.7")], None),
            (vec![("forwarded", "for=1.1.1.1;x=\", for=\"[2001:db8::7]\"")], None),
            (vec![("forwarded", "for=1.1.1.1;x=\"\\, for=\"[2001:db8::7]\"")], None),
            (vec![("forwarded", "for=1.1.1.1;for=203.0.113.7")], None),
            (vec![("forwarded", "for=1.1.1.1; secret, for=203.0.113.7")], Some("203.0.113.7")),
            (vec![("forwarded", "for=203.0.113.7;secret")], None),
            (vec![("forwarded", "for=1.1.1.1;x=\""), ("forwarded", "for=203.0.113.7")], Some("203.0.113.7")),
            // Somebody who is hidden on purpose, or is no address.
            (vec![("forwarded", "for=_hidden")], None),
            (vec![("forwarded", "for=1.1.1.1, for=_hidden:80")], None),
            (vec![("forwarded", "for=\"_gazonk\"")], None),
            (vec![(FOR, "1.1.1.1, unix:")], None),
            (vec![(FOR, "1.1.1.1, ")], None),
            (vec![(FOR, "1.1.1.1,,")], None),
            (vec![(FOR, "fe80::1%eth0")], None),
            (vec![(FOR, "[fe80::1%25eth0]:80")], None),
            (vec![(FOR, "203.0.113.7:99999")], None),
            (vec![(FOR, "203.0.113.7, 010.0.0.1")], None),
            (vec![(FOR, "0x7f000001")], None),
            (vec![(FOR, "2130706433")], None),
            // One and the same address, however it is written.
            (vec![(FOR, "203.0.113.7, ::ffff:10.0.0.2")], Some("203.0.113.7")),
            (vec![(FOR, "203.0.113.7, [::ffff:10.0.0.2]:80")], Some("203.0.113.7")),
            (vec![("forwarded", "FOR=\"203.0.113.7:4711\";Proto=http")], Some("203.0.113.7")),
            (vec![("forwarded", "for=[2001:db8::7]")], Some("2001:db8::7")),
            // What another header says of the caller is not asked.
            (vec![("x-real-ip", "1.1.1.1")], Some("127.0.0.1")),
            (vec![("cf-connecting-ip", "1.1.1.1"), (FOR, "203.0.113.7")], Some("203.0.113.7")),
        ] {
            assert_eq!(by(&said).as_deref(), caller, "{said:?}");
        }
    }

    #[test]
    fn whether_it_was_secure_is_the_word_of_the_nearest_proxy() {
        for (said, secure) in [
            (vec![(PROTO, "https")], true),
            (vec![(PROTO, "https, http")], false),
            (vec![("forwarded", "for=1.1.1.1;proto=https")], true),
            (vec![(FOR, "1.1.1.1")], false),
            // One of them may be the caller's own.
            (vec![("forwarded", "for=1.1.1.1;proto=http"), (PROTO, "https")], false),
            (vec![("forwarded", "for=1.1.1.1;proto=https"), (PROTO, "http")], false),
            (vec![("forwarded", "for=1.1.1.1;proto=https"), (PROTO, "https")], true),
        ] {
            assert_eq!(sent_by("10.1.1.1:9", &said).unwrap().secure, secure, "{said:?}");
        }
    }

    #[test]
    fn a_thousand_hops_are_as_good_as_one() {
        let hops = |first: &str| format!("{first}, {}", vec!["10.0.0.9"; 1000].join(", "));
        for (first, caller) in [("203.0.113.7", Some("203.0.113.7")), ("10.0.0.1", Some("10.0.0.1")), ("_x", None)] {
            let mut headers = HeaderMap::new();
            headers.insert(FOR, hops(first).parse().unwrap());
            let proxies = ["10.0.0.0/8".parse().unwrap()];
            let sent = sent(&proxies, "10.0.0.1:9".parse().ok(), &headers).unwrap();
            assert_eq!(sent.by.map(|by| by.ip().to_string()).as_deref(), caller);
        }
    }

    #[test]
    fn nobody_else_is_believed() {
        let said = [(FOR, "127.0.0.1"), ("forwarded", "for=127.0.0.1"), (PROTO, "https")];
        assert_eq!((sent_by("203.0.113.7:9", &said), sent_by("unknown", &said)), (None, None));
    }
}
