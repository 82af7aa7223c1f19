//! Listeners, and the sockets that come from them.

use std::{
    io::{self, Write as _},
    net::{Shutdown, SocketAddr},
};

use tokio::net::{TcpListener, TcpStream};

#[cfg(unix)]
use crate::connection::unix_socket::{self, SocketFile};
use crate::{
    ServeError,
    connection::listen::{Address, Listen},
};

/// A listener.
#[derive(Debug)]
pub(crate) struct BoundListener {
    kind: ListenerKind,
    address: Address,
    /// Whether it stays open without this process.
    passed: bool,
}

#[derive(Debug)]
enum ListenerKind {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener, Option<SocketFile>),
}

impl BoundListener {
    /// A listener that is open already.
    pub(crate) fn of(listener: TcpListener) -> Result<BoundListener, ServeError> {
        let address = Address::Tcp(listener.local_addr()?);
        Ok(BoundListener { kind: ListenerKind::Tcp(listener), address, passed: false })
    }

    /// Opens what listens at `place`, and adds it to the others.
    pub(crate) async fn open(place: Listen, listeners: &mut Vec<BoundListener>) -> Result<(), ServeError> {
        match place {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address).await;
                listeners.push(BoundListener::of(listener.map_err(|source| ServeError::Address { address, source })?)?);
            }
            #[cfg(unix)]
            Listen::Unix { path, mode } => {
                let opened = unix_socket::open(&path, mode);
                let (listener, file) = opened.map_err(|source| ServeError::Socket { path: path.clone(), source })?;
                let kind = ListenerKind::Unix(listener, Some(file));
                listeners.push(BoundListener { kind, address: Address::Unix(Some(path)), passed: false });
            }
            #[cfg(not(unix))]
            Listen::Unix { path, .. } => {
                return Err(ServeError::Socket { path, source: io::ErrorKind::Unsupported.into() });
            }
            #[cfg(unix)]
            Listen::Systemd => BoundListener::passed(listeners)?,
            #[cfg(not(unix))]
            Listen::Systemd => return Err(ServeError::NothingPassed),
        }
        Ok(())
    }

    #[cfg(unix)]
    fn passed(listeners: &mut Vec<BoundListener>) -> Result<(), ServeError> {
        let mut sockets = listenfd::ListenFd::from_env();
        if sockets.len() == 0 {
            return Err(ServeError::NothingPassed);
        }
        for number in 0..sockets.len() {
            if let Ok(Some(listener)) = sockets.take_unix_listener(number) {
                listener.set_nonblocking(true)?;
                let address = Address::Unix(listener.local_addr()?.as_pathname().map(Into::into));
                let kind = ListenerKind::Unix(tokio::net::UnixListener::from_std(listener)?, None);
                listeners.push(BoundListener { kind, address, passed: true });
            } else if let Some(listener) = sockets.take_tcp_listener(number)? {
                listener.set_nonblocking(true)?;
                let listener = BoundListener::of(TcpListener::from_std(listener)?)?;
                listeners.push(BoundListener { passed: true, ..listener });
            }
        }
        Ok(())
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) async fn accept(&self) -> io::Result<Socket> {
        match &self.kind {
            ListenerKind::Tcp(listener) => {
                listener.accept().await.map(|(stream, address)| Socket::Tcp(stream, address))
            }
            #[cfg(unix)]
            ListenerKind::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Socket::Unix(stream)),
        }
    }

    /// The connections that wait to be accepted. The listener closes; one that stays open
    /// without this process leaves them to the next.
    pub(crate) fn rest(self) -> Box<dyn Iterator<Item = Socket> + Send> {
        if self.passed {
            return Box::new(std::iter::empty());
        }
        match self.kind {
            ListenerKind::Tcp(listener) => {
                let Ok(listener) = listener.into_std() else { return Box::new(std::iter::empty()) };
                Box::new(std::iter::from_fn(move || {
                    let (stream, address) = listener.accept().ok()?;
                    stream.set_nonblocking(true).ok()?;
                    Some(Socket::Tcp(TcpStream::from_std(stream).ok()?, address))
                }))
            }
            #[cfg(unix)]
            ListenerKind::Unix(listener, file) => {
                let Ok(listener) = listener.into_std() else { return Box::new(std::iter::empty()) };
                Box::new(std::iter::from_fn(move || {
                    let _ = &file;
                    let (stream, _) = listener.accept().ok()?;
                    stream.set_nonblocking(true).ok()?;
                    Some(Socket::Unix(tokio::net::UnixStream::from_std(stream).ok()?))
                }))
            }
        }
    }
}

/// A connection that was accepted.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream, SocketAddr),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Socket {
    /// The address of the other side, if it has one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Socket::Tcp(_, address) => Some(*address),
            #[cfg(unix)]
            Socket::Unix(_) => None,
        }
    }

    /// Writes what can be written at once, and closes.
    pub(crate) fn hang_up(self, words: &[u8]) {
        let said = match self {
            Socket::Tcp(stream, _) => stream.into_std().and_then(|mut stream| {
                stream.write_all(words)?;
                stream.shutdown(Shutdown::Write)
            }),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.into_std().and_then(|mut stream| {
                stream.write_all(words)?;
                stream.shutdown(Shutdown::Write)
            }),
        };
        if let Err(error) = said {
            tracing::debug!(%error, "a connection that was refused could not be told");
        }
    }
}
