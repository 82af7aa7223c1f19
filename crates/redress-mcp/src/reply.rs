//! What a request is answered with, and what that means to the connection that carries it.

use std::sync::Arc;

use bytes::Bytes;
use redress_contract::{Envelope, RequestId, Reservation};
use redress_wire::{
    jsonrpc::Id,
    mcp::{ProtocolError, open_result, write_error},
};
use serde_json::Value;

/// What a request is answered with.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The response, as JSON.
    pub(crate) body: Bytes,
    pub(crate) ending: ReplyKind,
    /// The name of the call, where there was one.
    pub(crate) request_id: Option<RequestId>,
}

/// What an answer means to the connection that carries it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// It is a result.
    Result,
    /// It is a result, and says that nobody is known to call.
    Unauthorized,
    /// It is a result, and says that the caller lacks these scopes.
    Forbidden(Arc<str>),
    /// It is a protocol error.
    Error(ProtocolError),
    /// It is an error about what the modern era wants of every request.
    Malformed,
}

impl Reply {
    /// The response whose result is this JSON.
    pub(crate) fn result(id: Id<'_>, result: &[u8]) -> Reply {
        let mut body = Vec::with_capacity(result.len() + 64);
        open_result(id, &mut body);
        body.extend_from_slice(result);
        body.push(b'}');
        Reply { body: body.into(), ending: ReplyKind::Result, request_id: None }
    }

    pub(crate) fn error(id: Id<'_>, error: ProtocolError, message: &str, data: Option<&[u8]>) -> Reply {
        let mut body = Vec::with_capacity(256);
        write_error(id, error, message, data, &mut body);
        Reply { body: body.into(), ending: ReplyKind::Error(error), request_id: None }
    }

    /// The same, with what it holds of the budget for as long as its bytes are in memory, whoever has them by then.
    pub(crate) fn holding(self, reservation: Option<Reservation>) -> Reply {
        match reservation {
            None => self,
            Some(reservation) => {
                let held = HeldBytes { bytes: self.body, _reservation: reservation };
                Reply { body: Bytes::from_owner(held), ..self }
            }
        }
    }
}

struct HeldBytes {
    bytes: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// An envelope with one more member, as the data of an error.
pub(crate) fn with_member(envelope: &Envelope, name: &str, value: &Value) -> Vec<u8> {
    with_members(envelope, &[(name, value)])
}

/// An envelope with more members, as the data of an error.
pub(crate) fn with_members(envelope: &Envelope, members: &[(&str, &Value)]) -> Vec<u8> {
    let whole = envelope.to_bytes();
    let mut data = vec![b'{'];
    for (name, value) in members {
        data.extend_from_slice(format!("{}:{value},", Value::from(*name)).as_bytes());
    }
    // An envelope is an object with members.
    data.extend_from_slice(whole.strip_prefix(b"{").unwrap_or(&whole));
    data
}
