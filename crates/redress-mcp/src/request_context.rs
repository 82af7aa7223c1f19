//! What is known of a request beside its message.

use std::{net::IpAddr, sync::Arc, time::Duration};

use redress_contract::Caller;
use redress_core::{Account, Face, Request, contained::ContainedSpan};
use tokio_util::sync::CancellationToken;

use crate::StreamPermit;

/// What is known of a request beside its message: who sends it, and what its connection asks of
/// every call.
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    /// Who calls; nobody, if nothing tells.
    pub caller: Option<Arc<Caller>>,
    /// The address that the request came from, where it is known.
    pub peer: Option<IpAddr>,
    /// The caller's own name for the call.
    pub request_id: Option<Arc<str>>,
    /// How long the caller waits for an answer.
    pub deadline: Option<Duration>,
    /// Makes the call safe to repeat. A key in the message itself goes before it.
    pub idempotency_key: Option<Arc<str>>,
    /// The session that the request belongs to, where there are sessions: what a handler and an envelope call it by.
    pub session_id: Option<Arc<str>>,
    /// What somebody who is not known can do to be, where a token would not help.
    pub sign_in: Option<&'static str>,
    /// What calls every request of the connection off.
    pub cancellation: Option<CancellationToken>,
    /// The span that the request came in, for whatever of it runs in tasks of its own.
    pub trace: Option<ContainedSpan>,
    /// What the answers are charged to.
    pub account: Option<Account>,
    /// What the message itself takes, given back when its request has ended: one of a session may outlive its
    /// connection.
    pub room: Option<StreamPermit>,
}

impl RequestContext {
    /// The call with this input.
    pub(crate) fn request<'a>(&self, input: &'a [u8]) -> Request<'a> {
        let mut request = Request::new(input).with_face(Face::Mcp);
        if let Some(caller) = &self.caller {
            request = request.with_caller(Arc::clone(caller));
        }
        if let Some(peer) = self.peer {
            request = request.with_peer(peer);
        }
        if let Some(id) = &self.request_id {
            request = request.with_request_id(id);
        }
        if let Some(deadline) = self.deadline {
            request = request.with_deadline(deadline);
        }
        if let Some(key) = &self.idempotency_key {
            request = request.with_idempotency_key(Arc::clone(key));
        }
        if let Some(session) = &self.session_id {
            request = request.with_session(Arc::clone(session));
        }
        if let Some(hint) = self.sign_in {
            request = request.with_sign_in(hint);
        }
        if let Some(token) = &self.cancellation {
            request = request.with_cancellation(token.clone());
        }
        if let Some(account) = &self.account {
            request = request.with_account(account.clone());
        }
        request
    }

    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller.as_deref()
    }
}
