//! `prompts/get`, and how a bad ending looks where there is no tool to carry it.

use redress_contract::{EngineCode, Envelope, Kind};
use redress_core::Refusal;
use redress_wire::{
    jsonrpc::Id,
    mcp::{CallParams, Era, ProtocolError, write_messages},
};
use serde_json::Value;

use crate::{
    RequestContext,
    call::{ending, keyed, written},
    client_channel::ClientChannel,
    mcp::McpInner,
    reply::{Reply, ReplyKind, with_member},
    request::InRounds as _,
};

impl McpInner {
    pub(crate) async fn prompt(
        &self,
        id: Id<'_>,
        params: &CallParams<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let known = self.prompts_and_resources.prompt(&params.name);
        let hidden = |name: &str| self.registry.changes().is_hidden(name);
        let Some(item) = known.filter(|item| !hidden(item.operation.name().as_str())) else {
            return self.unknown_prompt(id, &params.name, context);
        };
        let input = params.arguments.map(|arguments| arguments.get().as_bytes()).unwrap_or_default();
        let operation = &item.operation;
        let keyed = match keyed(context, params.meta.as_ref()) {
            Ok(keyed) => keyed,
            Err(refusal) => return failed(id, &self.registry.refuse(refusal, context.request(b"")), None, era),
        };
        let request = keyed.request(input);
        let envelope =
            match self.turn(id, operation.name().as_str(), request, era, params.rounds(context), channel).await {
                Ok(envelope) => envelope,
                Err(reply) => return reply,
            };
        let Some(messages) = envelope.output() else {
            return failed(id, &envelope, None, era);
        };
        let request_id = Some(envelope.meta().request_id.clone());
        let (length, summary) = (messages.len(), operation.summary().to_owned());
        let body = written(id, length, move |id, body| {
            body.reserve(length + 256);
            write_messages(id, &summary, envelope.output().unwrap_or(b"[]"), era, body);
        });
        Reply { body: body.await.into(), ending: ReplyKind::Result, request_id }
    }

    /// Says that there is no such prompt, and what is near.
    pub(crate) fn unknown_prompt(&self, id: Id<'_>, name: &str, context: &RequestContext) -> Reply {
        let refusal = Refusal::new(EngineCode::NotFound)
            .expecting("/params/name", "the name of a prompt that prompts/list shows")
            .with_similar(self.near_prompts(name, context))
            .with_hint("Use one of the prompts that prompts/list shows.");
        let envelope = self.registry.refuse(refusal, context.request(b""));
        let mut reply =
            Reply::error(id, ProtocolError::InvalidParams, "there is no such prompt", Some(&envelope.to_bytes()));
        reply.request_id = Some(envelope.meta().request_id.clone());
        reply
    }
}

/// A bad ending as a protocol error: a prompt and a document have no other. The envelope is its
/// data, with the document that was asked for.
pub(crate) fn failed(id: Id<'_>, envelope: &Envelope, uri: Option<&str>, era: Era) -> Reply {
    let Some(problem) = envelope.problem() else {
        return Reply::error(id, ProtocolError::Internal, "the call has no ending", None);
    };
    let error = match problem.kind {
        Kind::NotFound | Kind::MethodNotFound if uri.is_some() => ProtocolError::ResourceNotFound(era),
        Kind::NotFound
        | Kind::MethodNotFound
        | Kind::Parse
        | Kind::InvalidRequest
        | Kind::InvalidParams
        | Kind::Validation
        | Kind::Conflict => ProtocolError::InvalidParams,
        Kind::Internal
        | Kind::Unavailable
        | Kind::RateLimited
        | Kind::Timeout
        | Kind::Forbidden
        | Kind::Unauthorized
        | Kind::Configuration
        | Kind::Initialization
        | Kind::Database
        | Kind::Cancelled
        | Kind::Serialization
        | Kind::Unknown => ProtocolError::Internal,
    };
    let data = match uri {
        Some(uri) => with_member(envelope, "uri", &Value::from(uri)),
        None => envelope.to_bytes(),
    };
    let mut reply = Reply::error(id, error, &problem.error, Some(&data));
    reply.request_id = Some(envelope.meta().request_id.clone());
    let refused = ending(envelope);
    if refused != ReplyKind::Result {
        reply.ending = refused;
    }
    reply
}
