//! Which addresses may be connected to: none that a caller chose, none that hands out a machine's own credentials.
//!
//! A name is resolved by the connection that uses it, and what is checked is what is connected to, so that no second
//! answer of a name server comes between. A name that was somebody else's address at first does not become this machine's
//! or this network's later (DNS rebinding).

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use parking_lot::Mutex;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reach {
    /// On this machine.
    Loopback,
    /// In this network.
    Private,
    /// Anywhere.
    Public,
    /// On this link, where metadata services are, or nowhere at all.
    Refused,
}

/// Metadata services that are not link-local.
const METADATA: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254))];

/// Where `address` is.
pub(crate) fn reach(address: IpAddr) -> Reach {
    // An IPv4 address in the clothes of the other family is what it is underneath.
    let address = match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    if METADATA.contains(&address) || address.is_unspecified() || address.is_multicast() {
        return Reach::Refused;
    }
    match address {
        IpAddr::V4(four) => {
            let [first, second, ..] = four.octets();
            if four.is_link_local() || four.is_broadcast() || first == 0 || first >= 240 {
                Reach::Refused
            } else if four.is_loopback() {
                Reach::Loopback
            } else if four.is_private() || first == 100 && (64..128).contains(&second) {
                Reach::Private
            } else {
                Reach::Public
            }
        }
        IpAddr::V6(six) => {
            if six.is_unicast_link_local() || embeds_refused(six) {
                Reach::Refused
            } else if six.is_loopback() {
                Reach::Loopback
            } else if six.is_unique_local() {
                Reach::Private
            } else {
                Reach::Public
            }
        }
    }
}

/// Whether a translated address (NAT64, 6to4) leads to one that is refused.
fn embeds_refused(six: Ipv6Addr) -> bool {
    let segments = six.segments();
    let joined = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    let inner = match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => joined(high, low),
        [0x2002, high, low, ..] => joined(high, low),
        _ => return false,
    };
    reach(IpAddr::V4(inner)) == Reach::Refused
}

/// The address that a URL spells out, where it does not name one.
pub(crate) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// A host that may not be connected to.
#[derive(Debug, thiserror::Error)]
#[error("`{host}` leads to an address that is not connected to")]
pub(crate) struct Forbidden {
    host: String,
}

/// Resolves names for one upstream, and leaves out what may not be connected to.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    /// Where each name led when it was first resolved.
    first: Arc<Mutex<HashMap<String, Vec<Reach>>>>,
    /// Names that the operator wrote down: they may lead anywhere.
    trusted: Arc<[String]>,
}

impl Resolver {
    pub(crate) fn new(trusted: impl IntoIterator<Item = String>) -> Resolver {
        Resolver { first: Arc::default(), trusted: trusted.into_iter().collect() }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (first, trusted) = (Arc::clone(&self.first), self.trusted.contains(&host));
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let kept = admitted(&mut first.lock(), &host, found, trusted)?;
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}

/// Those of the addresses of `host` that may be connected to.
fn admitted(
    first: &mut HashMap<String, Vec<Reach>>,
    host: &str,
    found: Vec<SocketAddr>,
    trusted: bool,
) -> Result<Vec<SocketAddr>, Forbidden> {
    let may = |address: &SocketAddr| trusted || reach(address.ip()) != Reach::Refused;
    let mut kept: Vec<SocketAddr> = found.into_iter().filter(may).collect();
    match first.get(host) {
        Some(reaches) => kept.retain(|address| reaches.contains(&reach(address.ip()))),
        None if kept.is_empty() => {}
        None => {
            first.insert(host.to_owned(), kept.iter().map(|address| reach(address.ip())).collect());
        }
    }
    if kept.is_empty() { Err(Forbidden { host: host.to_owned() }) } else { Ok(kept) }
}

/// Whether two URLs lead to the same service: scheme, host and port.
pub(crate) fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_somewhere() {
        for (address, expected) in [
            ("127.0.0.1", Reach::Loopback),
            ("127.9.9.9", Reach::Loopback),
            ("::1", Reach::Loopback),
            ("::ffff:127.0.0.1", Reach::Loopback),
            ("10.1.2.3", Reach::Private),
            ("172.16.0.1", Reach::Private),
            ("192.168.1.1", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("fd12::1", Reach::Private),
            ("8.8.8.8", Reach::Public),
            ("2001:4860::1", Reach::Public),
            ("169.254.169.254", Reach::Refused),
            ("::ffff:169.254.169.254", Reach::Refused),
            ("64:ff9b::a9fe:a9fe", Reach::Refused),
            ("2002:a9fe:a9fe::", Reach::Refused),
            ("fe80::1", Reach::Refused),
            ("fd00:ec2::254", Reach::Refused),
            ("100.100.100.200", Reach::Refused),
            ("0.0.0.0", Reach::Refused),
            ("0.1.2.3", Reach::Refused),
            ("::", Reach::Refused),
            ("224.0.0.1", Reach::Refused),
            ("255.255.255.255", Reach::Refused),
        ] {
            assert_eq!(reach(address.parse().unwrap()), expected, "{address}");
        }
    }

    fn sockets(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn a_name_does_not_move_into_this_network() {
        let mut first = HashMap::new();
        assert!(admitted(&mut first, "api.example", sockets(&["8.8.8.8", "169.254.169.254"]), false).is_ok());
        assert_eq!(admitted(&mut first, "api.example", sockets(&["8.8.4.4"]), false).unwrap(), sockets(&["8.8.4.4"]));
        for rebound in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"] {
            assert!(admitted(&mut first, "api.example", sockets(&[rebound]), false).is_err(), "{rebound}");
        }
        assert!(admitted(&mut first, "inside.example", sockets(&["10.0.0.1"]), false).is_ok());
        assert!(admitted(&mut first, "inside.example", sockets(&["10.0.0.2"]), false).is_ok());
        assert!(admitted(&mut first, "meta.example", sockets(&["169.254.169.254"]), false).is_err());
        assert!(admitted(&mut first, "own.example", sockets(&["169.254.1.1"]), true).is_ok());
    }

    #[test]
    fn a_service_is_known_by_scheme_host_and_port() {
        let same = |one: &str, other: &str| is_same_origin(&Url::parse(one).unwrap(), &Url::parse(other).unwrap());
        assert!(same("https://a.example/x", "https://a.example:443/y"));
        assert!(!same("https://a.example", "http://a.example"));
        assert!(!same("https://a.example", "https://a.example:444"));
        assert!(!same("https://a.example", "https://b.a.example"));
    }
}
