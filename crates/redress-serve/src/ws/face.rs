//! The door: how a connection becomes a session.

use std::sync::{Arc, Mutex};

use axum::{
    extract::{FromRequestParts as _, WebSocketUpgrade},
    http::request::Parts,
    response::Response,
};
use redress_contract::{Caller, EngineCode};
use redress_core::{Refusal, Registry, Secret};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Limits, Peer, Peers, lanes::Lanes, session::Session};
use crate::shutdown::Shutdown;

/// All connections of one registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebSockets {
    pub(crate) limits: Limits,
    pub(crate) peers: Peers,
    running: TaskTracker,
}

/// Who is on the other side.
#[derive(Debug, Default)]
pub(crate) struct Who {
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) token: Option<Secret>,
}

impl WebSockets {
    /// Turns a message into a connection. A token that tells nobody is refused here already
    /// (K-81); what its caller may do is judged at each call, with the token as it is then.
    pub(crate) async fn upgrade(
        &self,
        registry: &Registry,
        shutdown: &Shutdown,
        who: Who,
        parts: &mut Parts,
    ) -> Result<Response, Refusal> {
        let upgrade = WebSocketUpgrade::from_request_parts(parts, &()).await.map_err(|rejection| {
            Refusal::new(EngineCode::InvalidRequest)
                .with_http(rejection.status().as_u16())
                .with_details(&json!({"expected": "a WebSocket handshake"}))
                .with_hint("Connect here with a WebSocket client.")
        })?;
        if let (Some(token), Some(_)) = (&who.token, registry.identity())
            && registry.identify(token).await.is_err()
        {
            return Err(Refusal::bad_token());
        }
        let session = self.session(registry, shutdown, who);
        let (peers, tracked) = (self.peers.clone(), self.running.token());
        // Beyond this the connection is closed while the message is still on its way, so that
        // no more of it is held.
        let most = self.limits.message_bytes.saturating_mul(2);
        Ok(upgrade.max_message_size(most).max_frame_size(most).on_upgrade(move |socket| async move {
            let _tracked = tracked;
            let _joined = peers.join(&session.peer);
            session.run(socket).await;
        }))
    }

    /// Resolves when every connection has said goodbye, once the service goes down.
    pub(crate) async fn closed(&self) {
        self.running.close();
        self.running.wait().await;
    }

    fn session(&self, registry: &Registry, shutdown: &Shutdown, who: Who) -> Arc<Session> {
        let id: Arc<str> = format!("ws-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..)).into();
        let lanes = Lanes::new(self.limits);
        Arc::new(Session {
            registry: registry.clone(),
            limits: self.limits,
            peer: Peer::new(Arc::clone(&id), who.caller.clone(), Arc::clone(&lanes), self.limits),
            caller: who.caller,
            token: who.token,
            id,
            lanes,
            draining: shutdown.token().clone(),
            over: shutdown.over().clone(),
            gone: CancellationToken::new(),
            seen: Mutex::new(Instant::now()),
        })
    }
}
