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

/// Whether the header is one that a proxy adds, beside `Forwarded` and `Via`.
pub(crate) fn is_added(name: &str) -> bool {
    matches!(name, FOR | PROTO | "x-real-ip")
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
    let by_for = headers.contains_key(FOR).then(|| first_untrusted(listed(headers, FOR), trusted));
    let by_forwarded = headers.contains_key(header::FORWARDED).then(|| {
        let elements = listed(headers, header::FORWARDED.as_str());
        first_untrusted(elements.map(|element| parameter(element, "for").unwrap_or_default()), trusted)
    });
    // A proxy that adds the one may hand on the other as the caller wrote it, so where they
    // do not agree neither is believed.
    let by = match (by_for, by_forwarded) {
        (Some(one), Some(other)) if one != other => None,
        (Some(by), _) | (None, Some(by)) => by,
        (None, None) => from.map(|from| from.ip()),
    };
    let proto = listed(headers, PROTO).next();
    let forwarded = listed(headers, header::FORWARDED.as_str()).next().and_then(|element| parameter(element, "proto"));
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
fn listed<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines: Vec<_> = headers.get_all(name).into_iter().collect();
    lines.into_iter().rev().flat_map(|line| split(line.to_str().unwrap_or_default(), b',').into_iter().rev())
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

/// One parameter of an element of `Forwarded`.
fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    split(element, b';').into_iter().find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
    })
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
    fn nobody_else_is_believed() {
        let said = [(FOR, "127.0.0.1"), ("forwarded", "for=127.0.0.1"), (PROTO, "https")];
        assert_eq!((sent_by("203.0.113.7:9", &said), sent_by("unknown", &said)), (None, None));
    }
}
