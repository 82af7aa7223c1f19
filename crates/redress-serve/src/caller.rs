//! Who is on the other side of a connection, where no token says so.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::http::{HeaderMap, HeaderValue, header};
use redress_contract::Caller;

/// What is known about a connection and the message on it.
///
/// ```
/// use redress_serve::Connection;
///
/// let headers = axum::http::HeaderMap::new();
/// let mut connection = Connection::new(&headers);
/// connection.local = true;
/// assert!(connection.certificate.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Connection<'a> {
    /// The address of the caller, where it is known: the other side of the connection, or whom
    /// a trusted proxy there names. The port of one that a proxy names is 0.
    pub peer: Option<SocketAddr>,
    /// Whether the message comes from this very machine, and through no proxy.
    pub local: bool,
    /// Whether the message came by TLS, to here or to a trusted proxy.
    pub secure: bool,
    /// The certificate of the client in DER, which TLS has verified. A web page of another
    /// origin has none: it is its visitor whom the certificate names.
    pub certificate: Option<&'a [u8]>,
    /// The headers of the message.
    pub headers: &'a HeaderMap,
}

impl<'a> Connection<'a> {
    /// A message of which nothing but its headers is known.
    pub fn new(headers: &'a HeaderMap) -> Connection<'a> {
        Connection { peer: None, local: false, secure: false, certificate: None, headers }
    }
}

/// Tells who calls on a connection, where no token says so.
pub trait CallerOf: Send + Sync + 'static {
    /// The caller; nobody, if the connection tells nothing.
    fn caller_of(&self, connection: Connection<'_>) -> Option<Arc<Caller>>;
}

/// Nobody is known: only a token makes a caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

impl CallerOf for Anonymous {
    fn caller_of(&self, _: Connection<'_>) -> Option<Arc<Caller>> {
        None
    }
}

/// Whoever calls from this very machine, and through no proxy, is `local`, with all scopes; everyone else is nobody.
///
/// A web page that the user of this machine looks at also comes from this machine. It gives
/// itself away by where it was loaded from (`Origin`, `Sec-Fetch-Site`) or by the name that
/// it used for this machine (`Host`), and is nobody.
#[derive(Clone, Debug)]
pub struct Loopback {
    local: Arc<Caller>,
}

impl Loopback {
    /// The rule.
    pub fn new() -> Loopback {
        Loopback { local: Arc::new(Caller::local()) }
    }
}

impl Default for Loopback {
    fn default() -> Loopback {
        Loopback::new()
    }
}

impl CallerOf for Loopback {
    fn caller_of(&self, connection: Connection<'_>) -> Option<Arc<Caller>> {
        let Connection { local: true, headers, .. } = connection else { return None };
        for (name, value) in headers {
            let trusted = match *name {
                header::HOST => is_local_authority(value.to_str().ok()?),
                header::ORIGIN => is_local_origin(value),
                _ if name.as_str() == "sec-fetch-site" => value != "cross-site",
                _ => true,
            };
            if !trusted {
                return None;
            }
        }
        Some(Arc::clone(&self.local))
    }
}

pub(crate) fn is_local(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn is_local_origin(origin: &HeaderValue) -> bool {
    let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    authority.is_some_and(is_local_authority)
}

/// Whether `host` or `host:port` is a name of this machine that no other can have.
fn is_local_authority(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "127.0.0.1"
        || host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || host.parse().is_ok_and(is_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(peer: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse::<header::HeaderName>().unwrap(), HeaderValue::from_static(value)))
            .collect();
        let local = peer.parse::<SocketAddr>().is_ok_and(|peer| is_local(peer.ip()));
        Loopback::new().caller_of(Connection { local, ..Connection::new(&headers) }).is_some()
    }

    #[test]
    fn a_peer_on_this_machine_is_local() {
        assert!(local("127.0.0.1:5000", &[("host", "127.0.0.1:7717")]));
        assert!(local("[::1]:5000", &[("host", "[::1]:7717")]));
        assert!(local("[::ffff:127.0.0.1]:5000", &[("host", "localhost:7717"), ("origin", "http://localhost:3000")]));
        assert!(local("127.0.0.1:5000", &[]));
        assert!(!local("10.0.0.7:5000", &[("host", "127.0.0.1:7717")]) && !local("unknown", &[]));
    }

    #[test]
    fn a_web_page_from_elsewhere_is_nobody_on_this_machine() {
        for headers in [
            [("host", "evil.example"), ("accept", "*/*")],
            [("host", "127.0.0.1.evil.example:7717"), ("accept", "*/*")],
            [("host", "localhost.evil.example"), ("accept", "*/*")],
            [("host", "127.0.0.1:7717"), ("origin", "https://evil.example")],
            [("host", "127.0.0.1:7717"), ("origin", "null")],
            [("host", "127.0.0.1:7717"), ("sec-fetch-site", "cross-site")],
        ] {
            assert!(!local("127.0.0.1:5000", &headers), "{headers:?}");
        }
    }
}
