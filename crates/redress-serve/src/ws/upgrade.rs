//! The door: how a connection becomes a session.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{FromRequestParts as _, WebSocketUpgrade},
    http::{StatusCode, header, request::Parts},
    response::Response,
};
use parking_lot::Mutex;
use redress_contract::{Caller, EngineCode};
use redress_core::{Refusal, Secret};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Peer, Peers, WebSocketLimits, fair_queue::FairQueue, partial_message::ReadPosition, session::WsSession};
use crate::{
    connection::{
        conn::ConnContext,
        server_state::{Holder, ServerState},
    },
    request::{
        meta::{Handshake, Trace},
        service::FacesInner,
    },
};

/// How connections of one registry are made.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebSockets {
    pub(crate) limits: WebSocketLimits,
    pub(crate) peers: Peers,
}

/// Who is on the other side.
#[derive(Debug, Default)]
pub(crate) struct SocketOwner {
    /// Who opens the connection, where no token says so.
    pub(crate) caller: Option<Arc<Caller>>,
    /// By what each call asks anew who that is.
    pub(crate) handshake: Option<Handshake>,
    pub(crate) token: Option<Secret>,
    /// Where it counts, where nobody knows it.
    pub(crate) address: Option<IpAddr>,
    /// The trace that the connection was opened in.
    pub(crate) trace: Option<Trace>,
}

impl WebSockets {
    /// Turns a message into a connection. A token that tells nobody is refused here already;
    /// what its caller may do is judged at each call, with the token as it is then.
    pub(crate) async fn upgrade(
        &self,
        shared: &FacesInner,
        line: &Arc<ConnContext>,
        who: SocketOwner,
        parts: &mut Parts,
    ) -> Result<Response, Refusal> {
        let refuse = |status: StatusCode| {
            Refusal::new(EngineCode::InvalidRequest)
                .with_http(status.as_u16())
                .with_details(&json!({"expected": "a WebSocket handshake"}))
                .with_hint("Connect here with a WebSocket client.")
        };
        let upgrade = WebSocketUpgrade::from_request_parts(parts, &()).await;
        let upgrade = upgrade.map_err(|rejection| refuse(rejection.status()))?;
        if !parts.headers.get(header::SEC_WEBSOCKET_KEY).is_none_or(|key| is_nonce(key.as_bytes())) {
            return Err(refuse(StatusCode::BAD_REQUEST));
        }
        let caller = match (&who.token, shared.registry.identity()) {
            (Some(token), Some(_)) => Some(shared.registry.identify(token).await.map_err(Refusal::unidentified)?),
            (Some(_) | None, _) => who.caller.clone(),
        };
        let holder = Holder::of(caller.as_deref(), who.address);
        let held = shared.server_state.take_socket(holder, shared.limits.sockets)?;
        let session = self.session(&shared.server_state, line, who);
        let (peers, tracked) = (self.peers.clone(), shared.server_state.sockets.token());
        // Beyond this the connection is closed while the message is still on its way, so that
        // no more of it is held.
        let max = self.limits.message_bytes.saturating_mul(2);
        Ok(upgrade.max_message_size(max).max_frame_size(max).on_upgrade(move |socket| async move {
            let (_tracked, _held) = (tracked, held);
            let _joined = peers.join(&session.peer);
            session.run(socket).await;
        }))
    }

    fn session(&self, server_state: &ServerState, line: &Arc<ConnContext>, who: SocketOwner) -> Arc<WsSession> {
        let id: Arc<str> = format!("ws-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..)).into();
        let fair_queue = FairQueue::new(self.limits);
        Arc::new(WsSession {
            line: Arc::clone(line),
            limits: self.limits,
            peer: Peer::new(Arc::clone(&id), who.caller, Arc::clone(&fair_queue), self.limits),
            handshake: who.handshake,
            token: who.token,
            address: who.address,
            trace: who.trace,
            id,
            fair_queue,
            draining: server_state.shutdown.token().clone(),
            over: server_state.shutdown.over().clone(),
            gone: CancellationToken::new(),
            seen: Mutex::new(Instant::now()),
            given: ReadPosition::default(),
            tasks: server_state.sockets.clone(),
        })
    }
}

/// Whether the key of a handshake is 16 bytes in base64, as RFC 6455 (4.2.1) asks.
fn is_nonce(key: &[u8]) -> bool {
    // 16 bytes are 21 characters, a last one of which only two bits count, and two for padding.
    let in_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let [digits @ .., last, b'=', b'='] = key else { return false };
    digits.len() == 21 && digits.iter().all(in_alphabet) && matches!(last, b'A' | b'Q' | b'g' | b'w')
}
