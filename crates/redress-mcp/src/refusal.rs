//! What is refused before there is a call. Each is an error of JSON-RPC whose data is the envelope, so that its reader has
//! a code, a hint and the id of the request whatever it was that refused, and observers are told of it.

use std::borrow::Cow;

use ::http::HeaderName;
use redress_contract::EngineCode;
use redress_core::Refusal;
use redress_wire::{
    jsonrpc::Id,
    mcp::{ProtocolError, VERSIONS, method},
};
use serde_json::json;

use crate::{
    RequestContext,
    mcp::McpInner,
    reply::{Reply, ReplyKind, with_members},
};

/// How much of a version that is not served comes back: no more than a version has.
const LONGEST_VERSION: usize = 32;

/// Why a message is refused before there is a call.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// This header is missing, stands twice or says something else than the body; with what is wrong with it.
    Header(HeaderName, Cow<'static, str>),
    /// `initialize` asks for another version than its header names.
    OtherVersion,
    /// This version is not served.
    Version(String),
    /// Its id is neither a string nor a whole number.
    Id,
    /// A request of its id still runs.
    IdRuns,
    /// Its parameters are not those of its method, which are these.
    Params(&'static str),
    /// Its `_meta` lacks these, or has them wrong.
    Meta(String),
    /// Its `_meta` asks for notes of a level that there is not.
    LogLevel,
    ProgressToken,
    /// It sets a level that there is not.
    Level,
    NoMethod,
    /// It asks for prompts where there are none.
    NoPrompts,
    Cursor,
    Template,
    /// It would have its client told of more documents than it may be.
    Documents,
    /// Its state is not one that this server gave its caller, or is too old.
    State,
    /// Its answers are no object.
    Responses,
    /// One of its answers is not what was asked for.
    Response,
    /// Its client has called it off, or the session is over, and yet something has to be answered.
    CalledOff,
}

/// What is answered to a message that is refused.
struct RefusalMessage {
    error: ProtocolError,
    says: Cow<'static, str>,
    refusal: Refusal,
}

fn told(error: ProtocolError, says: impl Into<Cow<'static, str>>, refusal: Refusal) -> RefusalMessage {
    RefusalMessage { error, says: says.into(), refusal }
}

/// Refuses parameters, and says which of them to change.
fn params(says: impl Into<Cow<'static, str>>, pointer: &str, expected: &str, hint: &'static str) -> RefusalMessage {
    let refusal = Refusal::new(EngineCode::InvalidRequest).expecting(pointer, expected).with_hint(hint);
    told(ProtocolError::InvalidParams, says, refusal)
}

fn header(says: &'static str, status: u16, header: &str, expected: &str, hint: &'static str) -> RefusalMessage {
    let refusal = Refusal::new(EngineCode::InvalidRequest)
        .with_http(status)
        .with_details(&json!({"header": header, "expected": expected}))
        .with_hint(hint);
    told(ProtocolError::InvalidRequest, says, refusal)
}

impl Unfit {
    /// A version that is not served.
    pub(crate) fn version(version: &str) -> Unfit {
        Unfit::Version(version.chars().take(LONGEST_VERSION).collect())
    }

    /// Parameters that this method does not take.
    pub(crate) fn params_of(asked: &str) -> Unfit {
        Unfit::Params(match asked {
            method::TOOLS_CALL | method::PROMPTS_GET => "need `name`, and may have `arguments` and `_meta`",
            method::RESOURCES_READ | method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE => "need `uri`",
            method::COMPLETE => "need `ref` and `argument`",
            method::SET_LEVEL => "need `level`",
            method::LISTEN => "need `notifications`",
            method::INITIALIZE => "need `protocolVersion`, `capabilities` and `clientInfo`",
            _ => "are not what the method takes",
        })
    }

    fn told(&self) -> RefusalMessage {
        match self {
            Unfit::Host => {
                told(ProtocolError::InvalidRequest, "the server is not known by this name", Refusal::foreign_host())
            }
            Unfit::Page => {
                told(ProtocolError::InvalidRequest, "pages of this origin may not call", Refusal::foreign_page())
            }
            Unfit::Method => told(
                ProtocolError::InvalidRequest,
                "messages are sent with POST",
                Refusal::new(EngineCode::InvalidOperationType)
                    .with_details(&json!({"allow": ["POST"]}))
                    .with_hint("Send every message with POST; GET and DELETE belong to a session that is open."),
            ),
            Unfit::ContentType => header(
                "the message has to be application/json",
                415,
                "Content-Type",
                "application/json",
                "Send JSON, and say so: `Content-Type: application/json`.",
            ),
            Unfit::Accept => header(
                "the answer is application/json, or text/event-stream",
                406,
                "Accept",
                "application/json, text/event-stream",
                "Say that you take both: `Accept: application/json, text/event-stream`.",
            ),
            Unfit::NoStream => header(
                "the answer is text/event-stream, which the header Accept does not name",
                406,
                "Accept",
                "text/event-stream",
                "Say that you take it: `Accept: application/json, text/event-stream`.",
            ),
            Unfit::TooLarge(limit) => told(
                ProtocolError::InvalidRequest,
                "the message is larger than is taken",
                Refusal::new(EngineCode::PayloadTooLarge).with_details(&json!({"limit_bytes": limit})),
            ),
            Unfit::NotJson => {
                told(ProtocolError::Parse, "the message is not JSON", Refusal::new(EngineCode::ParseError))
            }
            Unfit::NoRequest => told(
                ProtocolError::InvalidRequest,
                "the message is no request",
                Refusal::new(EngineCode::InvalidRequest)
                    .expecting("", "an object with `jsonrpc`, `id`, `method` and `params`"),
            ),
            Unfit::Batch => told(
                ProtocolError::InvalidRequest,
                "a message holds one request; batches are not part of the protocol",
                Refusal::new(EngineCode::InvalidRequest)
                    .expecting("", "one request")
                    .with_hint("Send each request as a message of its own."),
            ),
            Unfit::Header(name, says) => told(
                ProtocolError::HeaderMismatch,
                says.clone(),
                Refusal::new(EngineCode::InvalidRequest)
                    .with_details(&json!({"header": name.as_str(), "expected": "once, and what the body says"}))
                    .with_hint("Send the header in `details.header` once, and let it say what the body says."),
            ),
            Unfit::OtherVersion => header(
                "the header MCP-Protocol-Version is not the version in the parameters",
                400,
                "MCP-Protocol-Version",
                "the version in `params.protocolVersion`",
                "Name the same version in both places, or leave the header out of `initialize`.",
            ),
            Unfit::Version(_) => told(
                ProtocolError::UnsupportedVersion,
                "the protocol version is not served",
                Refusal::new(EngineCode::InvalidRequest)
                    .with_details(&json!({"supported": VERSIONS}))
                    .with_hint("Make the request again with one of the versions in `supported`."),
            ),
            Unfit::Id => told(
                ProtocolError::InvalidRequest,
                "an id is a string or a whole number",
                Refusal::new(EngineCode::InvalidRequest)
                    .expecting("/id", "a string or a whole number")
                    .with_hint("Give the request an id that is a string or a whole number."),
            ),
            Unfit::IdRuns => told(
                ProtocolError::InvalidRequest,
                "a request of this id still runs",
                Refusal::new(EngineCode::InvalidRequest)
                    .expecting("/id", "an id that no running request has")
                    .with_hint("Give every request an id of its own, or wait for the one that runs."),
            ),
            Unfit::Params(these) => params(
                format!("the parameters {these}"),
                "/params",
                "the parameters that the method takes",
                "Send the parameters that the method takes: the message of the error names them.",
            ),
            Unfit::Meta(names) => params(
                format!("`_meta` lacks, or has wrong: {names}"),
                "/params/_meta",
                names,
                "Send in `_meta` all that this version of the protocol wants of every request.",
            ),
            Unfit::LogLevel => params(
                "there is no such level of notes",
                "/params/_meta",
                "a level from `debug` to `emergency`",
                "Ask for one of the levels that the protocol has, from `debug` to `emergency`.",
            ),
            Unfit::ProgressToken => params(
                "a progress token is a string or a number of at most 1,024 bytes",
                "/params/_meta/progressToken",
                "a string or a number of at most 1,024 bytes",
                "Send a progress token that is a short string or a number.",
            ),
            Unfit::Level => params(
                "there is no such level",
                "/params/level",
                "a level from `debug` to `emergency`",
                "Set one of the levels that the protocol has, from `debug` to `emergency`.",
            ),
            Unfit::NoMethod => told(
                ProtocolError::MethodNotFound,
                "there is no such method",
                Refusal::new(EngineCode::NotFound)
                    .with_hint("Use a method of this version of the protocol; `tools/list` shows what can be called."),
            ),
            Unfit::NoPrompts => told(
                ProtocolError::MethodNotFound,
                "there are no prompts",
                Refusal::new(EngineCode::NotFound).with_hint("Do without prompts: the server declares none."),
            ),
            Unfit::Cursor => params(
                "the cursor is not one of this list",
                "/params/cursor",
                "a cursor that this list gave",
                "Begin the list again without a cursor: it may have changed since.",
            ),
            Unfit::Template => params(
                "there is no such template",
                "/params/ref/uri",
                "a template that resources/templates/list shows",
                "Complete one of the templates that resources/templates/list shows.",
            ),
            Unfit::Documents => params(
                "this connection is told of as many documents as it may be",
                "/params/uri",
                "a document in the place of another",
                "Unsubscribe from a document that you no longer need, then subscribe again.",
            ),
            Unfit::State => params(
                "the request state is not one of this server for you, or is too old",
                "/params/requestState",
                "the state of the last round",
                "Make the call from the beginning, without `requestState` and `inputResponses`.",
            ),
            Unfit::Responses => params(
                "`inputResponses` is no object",
                "/params/inputResponses",
                "an object with an answer for each question",
                "Send `inputResponses` as an object with the answer to each question under its key.",
            ),
            Unfit::Response => params(
                "an input response is not what was asked for",
                "/params/inputResponses",
                "the result that the method of the question has",
                "Answer each question with the result that its method has in the protocol.",
            ),
            Unfit::CalledOff => {
                told(ProtocolError::Internal, "the request was cancelled", Refusal::new(EngineCode::Cancelled))
            }
        }
    }

    /// Whether it is about what the modern era wants of every request, which has a status of its own.
    fn is_malformed(&self) -> bool {
        matches!(self, Unfit::OtherVersion | Unfit::Meta(_))
    }
}

impl McpInner {
    /// Refuses a message as a whole; with the status that HTTP has for it.
    pub(crate) fn unfit(&self, unfit: &Unfit, id: Id<'_>, context: &RequestContext) -> (Reply, u16) {
        let RefusalMessage { error, says, refusal } = unfit.told();
        let envelope = self.registry.refuse(refusal, context.request(b""));
        // The protocol wants these two beside whatever else is said.
        let data = if let Unfit::Version(requested) = unfit {
            with_members(&envelope, &[("supported", &json!(VERSIONS)), ("requested", &json!(requested))])
        } else {
            envelope.to_bytes()
        };
        // What is no id cannot be repeated as one.
        let id = if *unfit == Unfit::Id { Id::NULL } else { id };
        let mut reply = Reply::error(id, error, &says, Some(&data));
        if unfit.is_malformed() {
            reply.ending = ReplyKind::Malformed;
        }
        reply.request_id = Some(envelope.meta().request_id.clone());
        (reply, envelope.problem().map_or(400, |problem| problem.http))
    }

    /// Refuses one request.
    pub(crate) fn refuse(&self, unfit: &Unfit, id: Id<'_>, context: &RequestContext) -> Reply {
        self.unfit(unfit, id, context).0
    }
}
