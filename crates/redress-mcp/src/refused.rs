//! What is refused before anybody looks at what it asks for. Each is an error of JSON-RPC whose data is the envelope, so
//! that its reader has a code, a hint and the id of the request whatever it was that refused.

use redress_contract::EngineCode;
use redress_core::Refusal;
use redress_wire::{jsonrpc::Id, mcp::ProtocolError};
use serde_json::json;

use crate::{Asking, mcp::Inner, reply::Reply};

/// Why a message is refused as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The server is not known by the name that it is called.
    Host,
    /// It comes of a web page that may not call.
    Page,
    /// It was not sent with POST.
    Method,
    /// It does not claim to be JSON.
    ContentType,
    /// Its sender takes neither JSON nor an event stream.
    Accept,
    /// Its sender does not take the event stream that it asks for.
    NoStream,
    /// It has more bytes than this.
    TooLarge(usize),
    NotJson,
    NoRequest,
    Batch,
}

impl Unfit {
    fn error(self) -> ProtocolError {
        match self {
            Unfit::NotJson => ProtocolError::Parse,
            Unfit::Host
            | Unfit::Page
            | Unfit::Method
            | Unfit::ContentType
            | Unfit::Accept
            | Unfit::NoStream
            | Unfit::TooLarge(_)
            | Unfit::NoRequest
            | Unfit::Batch => ProtocolError::InvalidRequest,
        }
    }

    fn says(self) -> &'static str {
        match self {
            Unfit::Host => "the server is not known by this name",
            Unfit::Page => "pages of this origin may not call",
            Unfit::Method => "messages are sent with POST",
            Unfit::ContentType => "the message has to be application/json",
            Unfit::Accept => "the answer is application/json, or text/event-stream",
            Unfit::NoStream => "the answer is text/event-stream, which the header Accept does not name",
            Unfit::TooLarge(_) => "the message is larger than is taken",
            Unfit::NotJson => "the message is not JSON",
            Unfit::NoRequest => "the message is no request",
            Unfit::Batch => "a message holds one request; batches are not part of the protocol",
        }
    }

    fn refusal(self) -> Refusal {
        let header = |status, header, expected| {
            Refusal::new(EngineCode::InvalidRequest)
                .with_http(status)
                .with_details(&json!({"header": header, "expected": expected}))
        };
        match self {
            Unfit::Host => Refusal::foreign_host(),
            Unfit::Page => Refusal::foreign_page(),
            Unfit::Method => Refusal::new(EngineCode::InvalidOperationType)
                .with_details(&json!({"allow": ["POST"]}))
                .with_hint("Send every message with POST; GET and DELETE belong to a session that is open."),
            Unfit::ContentType => header(415, "Content-Type", "application/json")
                .with_hint("Send JSON, and say so: `Content-Type: application/json`."),
            Unfit::Accept => header(406, "Accept", "application/json, text/event-stream")
                .with_hint("Say that you take both: `Accept: application/json, text/event-stream`."),
            Unfit::NoStream => header(406, "Accept", "text/event-stream")
                .with_hint("Say that you take it: `Accept: application/json, text/event-stream`."),
            Unfit::TooLarge(limit) => {
                Refusal::new(EngineCode::PayloadTooLarge).with_details(&json!({"limit_bytes": limit}))
            }
            Unfit::NotJson => Refusal::new(EngineCode::ParseError),
            Unfit::NoRequest => Refusal::new(EngineCode::InvalidRequest)
                .expecting("", "an object with `jsonrpc`, `id`, `method` and `params`"),
            Unfit::Batch => Refusal::new(EngineCode::InvalidRequest)
                .expecting("", "one request")
                .with_hint("Send each request as a message of its own."),
        }
    }
}

impl Inner {
    /// Refuses a message as a whole; with the status that HTTP has for it.
    pub(crate) fn unfit(&self, unfit: Unfit, id: Id<'_>, asking: &Asking) -> (Reply, u16) {
        let envelope = self.registry.refuse(unfit.refusal(), asking.request(b""));
        let mut reply = Reply::error(id, unfit.error(), unfit.says(), Some(&envelope.to_bytes()));
        reply.request_id = Some(envelope.meta().request_id.clone());
        (reply, envelope.problem().map_or(400, |problem| problem.http))
    }
}
