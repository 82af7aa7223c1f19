//! Connections by hand, for what no well-behaved client does.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::{
    client::Identity,
    plan::{Message, What},
};

/// A connection by hand.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Raw> {
        Ok(Raw(TcpStream::connect(address).await?))
    }

    /// A connection from another address of this machine.
    pub(crate) async fn open_from(from: IpAddr, address: SocketAddr) -> io::Result<Raw> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(from, 0))?;
        Ok(Raw(socket.connect(address).await?))
    }

    /// Whether the server has neither said anything nor closed.
    pub(crate) fn is_open(&self) -> bool {
        self.0.try_read(&mut [0; 1024]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// A connection whose client has next to no room for what comes, so that what is not read stays with the server.
    pub(crate) async fn narrow(address: SocketAddr) -> io::Result<Raw> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4096)?;
        Ok(Raw(socket.connect(address).await?))
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// Says that nothing more will be sent, and goes on reading.
    pub(crate) async fn half_close(&mut self) -> io::Result<()> {
        self.0.shutdown().await
    }

    /// Reads what is there, once.
    pub(crate) async fn read_some(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 1024];
        self.0.read(&mut buffer).await
    }

    /// Reads until the server closes, and tells what came; nothing if it did not close in this time.
    pub(crate) async fn read_to_close(&mut self, within: Duration) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut read = async || {
            // A reset is an end like any other.
            let _ = self.0.read_to_end(&mut bytes).await;
        };
        timeout(within, read()).await.ok()?;
        Some(bytes)
    }

    /// Ends the connection with a reset, in the middle of whatever it was in.
    pub(crate) fn reset(self) -> io::Result<()> {
        self.0.set_zero_linger()
    }
}

/// The bytes of a request for an operation's own path: the head, and the body.
pub(crate) fn request(identity: &Identity, message: &Message, call: &What) -> (Vec<u8>, Vec<u8>) {
    let body = call.input().to_string().into_bytes();
    let key = message.key.as_ref().map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
    let head = format!(
        "POST /ops/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\n\
         X-Request-Id: {}\r\n{key}Content-Length: {}\r\n\r\n",
        call.operation().replace('.', "/"),
        identity.token,
        message.id,
        body.len()
    );
    (head.into_bytes(), body)
}

/// The bytes that ask for a WebSocket.
pub(crate) fn upgrade(identity: &Identity) -> Vec<u8> {
    format!(
        "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        identity.token
    )
    .into_bytes()
}

/// A text frame, masked as a client's frames must be. A mask of zeros leaves the text as it is.
pub(crate) fn text_frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len()) {
        Ok(short @ 0..126) => frame.push(0x80 | short.to_be_bytes()[1]),
        Ok(long) => {
            frame.push(0x80 | 126);
            frame.extend(long.to_be_bytes());
        }
        Err(_) => {
            frame.push(0x80 | 127);
            frame.extend((text.len() as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}
