//! Where a server listens.

use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr};

/// Where a server listens.
///
/// ```
/// use redress_serve::Listen;
///
/// assert_eq!("127.0.0.1:7717".parse(), Ok(Listen::Tcp("127.0.0.1:7717".parse().unwrap())));
/// assert_eq!("unix:/run/redress.sock".parse(), Ok(Listen::unix("/run/redress.sock")));
/// assert_eq!("systemd".parse(), Ok(Listen::Systemd));
/// assert!("nowhere".parse::<Listen>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Listen {
    /// An address.
    Tcp(SocketAddr),
    /// A Unix socket. A file of a socket on which nobody listens is replaced, any other file
    /// is left alone; the file is removed at the end.
    Unix {
        /// Where it is.
        path: PathBuf,
        /// Who may connect, as the mode of the file.
        mode: u32,
    },
    /// The sockets that systemd, or whoever does the same, has opened for this process.
    Systemd,
}

/// The text says nowhere to listen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an address with a port, nor `unix:` with a path, nor `systemd`")]
pub struct NotAListener(pub String);

impl Listen {
    /// A Unix socket that only its own user may connect to, since whoever may is `local`
    /// where nothing else says who calls.
    pub fn unix(path: impl Into<PathBuf>) -> Listen {
        Listen::Unix { path: path.into(), mode: 0o600 }
    }
}

impl FromStr for Listen {
    type Err = NotAListener;

    fn from_str(text: &str) -> Result<Listen, NotAListener> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Listen::unix(path)),
            None if text == "systemd" => Ok(Listen::Systemd),
            None => text.parse().map(Listen::Tcp).map_err(|_| NotAListener(text.to_owned())),
            Some(_) => Err(NotAListener(text.to_owned())),
        }
    }
}

/// Where a server does listen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// An address.
    Tcp(SocketAddr),
    /// The file of a Unix socket; none for one that has no name.
    Unix(Option<PathBuf>),
}

impl Address {
    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Address::Unix(_) => true,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(Some(path)) => write!(f, "unix:{}", path.display()),
            Address::Unix(None) => f.write_str("unix:"),
        }
    }
}
