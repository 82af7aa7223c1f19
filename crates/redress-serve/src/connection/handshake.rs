//! The beginning of a connection by TLS.

use std::{io, sync::Arc};

use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::{
    ServerLimits,
    connection::{
        conn::{PeerInfo, Protocol, ServerInner},
        conn_watchdog::LINGER,
        tls::Tls,
    },
};

impl ServerInner {
    /// Shakes hands within the time for it; nothing, if that fails.
    pub(crate) async fn shake_hands(
        &self,
        tls: &Tls,
        stream: TcpStream,
        side: PeerInfo,
        limits: &ServerLimits,
    ) -> Option<(TlsStream<TcpStream>, PeerInfo, Protocol)> {
        let lingered = async {
            self.server_state.shutdown.draining().await;
            tokio::time::sleep(LINGER).await;
        };
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(limits.handshake_time, tls.acceptor().accept(stream)) => {
                shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            }
            () = lingered => return None,
        };
        let stream = match shaken {
            Ok(stream) => stream,
            Err(error) => {
                self.server_state.counters.handshakes_failed.up();
                tracing::debug!(%error, "a handshake failed");
                return None;
            }
        };
        let (_, session) = stream.get_ref();
        let protocol = match session.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            Some(_) => Protocol::Http1,
            None => Protocol::Either,
        };
        let certificate = session.peer_certificates().and_then(|chain| chain.first()).map(|leaf| Arc::from(&**leaf));
        Some((stream, PeerInfo { secure: true, certificate, ..side }, protocol))
    }
}
