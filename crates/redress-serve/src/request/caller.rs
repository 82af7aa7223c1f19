//! Who is on the other side of a connection, where no token says so.

use std::{net::SocketAddr, sync::Arc};

use axum::http::HeaderMap;
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
    /// Whether the message comes from this very machine, through no proxy, of no web page of
    /// another origin, and to a name that only this machine has.
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

    /// What somebody who is not known can do to be, where no token is taken. Without it AUTH_REQUIRED asks for
    /// credentials.
    fn sign_in(&self) -> Option<&'static str> {
        None
    }
}

/// Nobody is known: only a token makes a caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

impl CallerOf for Anonymous {
    fn caller_of(&self, _: Connection<'_>) -> Option<Arc<Caller>> {
        None
    }
}

/// Whoever calls from this very machine, and through no proxy, is `local`, with all scopes but that for consents; everyone else is nobody.
///
/// A web page that the user of this machine looks at also comes from this machine. Unless it is
/// one of this very server, or of an origin in [`cors_origins`](crate::Faces::cors_origins) by
/// name, it is nobody: it gives itself away by where it was loaded from (`Origin`,
/// `Sec-Fetch-Site`) or by the name that it used for this machine (`Host`).
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
        connection.local.then(|| Arc::clone(&self.local))
    }

    fn sign_in(&self) -> Option<&'static str> {
        Some(
            "This server takes no credentials: it knows whoever calls from its own machine. Call it by `localhost` or \
             `127.0.0.1`, through no proxy and from no page of another origin, or have the operator name the page's \
             origin in `http.cors_origins`, or say in `[access]` who may call from elsewhere.",
        )
    }
}
