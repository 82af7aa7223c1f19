//! `[serve]`, `[tls]` and `[http]`: where to serve what, and how connections are treated.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ByteSize, ListenSetting, Span};

/// Where and what to serve.
#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ServeTable {
    /// Where to listen: an address and a port (0 takes a free one), `unix:` and the path of a socket,
    /// or `systemd` for the socket that it hands over.
    pub(crate) listen: Option<ListenSetting>,
    /// The URL by which clients know the server, such as `https://api.example`, for one that is reached through others.
    pub(crate) url: Option<String>,
    /// The folder of the file operations, relative to the folder of this file.
    pub(crate) root: Option<PathBuf>,
    /// Whether the operations that change files are offered.
    pub(crate) write: Option<bool>,
    /// The most bytes that a message may have.
    pub(crate) max_body: Option<ByteSize>,
    /// How long running calls have to end once the service is told to stop.
    pub(crate) shutdown_grace: Option<Span>,
    /// How many calls may run at once; more are refused with OVERLOADED.
    #[schemars(range(min = 1))]
    pub(crate) max_in_flight: Option<usize>,
    /// How long a call may take where its operation does not say.
    pub(crate) deadline: Option<Span>,
    /// Whether what operations give, outputs and details, is held against its schemas before it leaves. What is declared
    /// as data always is.
    pub(crate) check_outputs: Option<bool>,
}

/// What the server shows to prove who it is. Where it is set, only TLS is spoken.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct TlsTable {
    /// The certificate and those that lead to its authority, in PEM form, relative to the folder of this file.
    pub(crate) certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM form, relative to the folder of this file.
    pub(crate) key: Option<PathBuf>,
}

/// How HTTP connections are treated.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct HttpTable {
    /// Whether answers are compressed for clients that ask for it.
    pub(crate) compression: Option<bool>,
    /// The origins whose pages may call from a browser; `*` is every one.
    pub(crate) cors_origins: Option<Vec<String>>,
    /// The proxies whose word on the client's address is taken: addresses or networks.
    pub(crate) trusted_proxies: Option<Vec<String>>,
    /// How long a client may take to agree on TLS.
    pub(crate) handshake_time: Option<Span>,
    /// How long a client may take to send the headers of a request.
    pub(crate) header_time: Option<Span>,
    /// How long a client may take to send a body, from its first byte to its last.
    pub(crate) body_time: Option<Span>,
    /// How long a connection may wait for the next request.
    pub(crate) idle_time: Option<Span>,
    /// How long a client may read nothing of an answer.
    pub(crate) write_time: Option<Span>,
    /// The most bytes that the headers of a request may have.
    pub(crate) max_headers: Option<ByteSize>,
}
