//! `tools/call`: from the message to the call path, and back.

use std::{borrow::Cow, sync::Arc};

use redress_contract::{EngineCode, Envelope, Problem, RecoveryStep};
use redress_core::{
    Refusal, Request,
    offload::{LARGE, offload},
};
use redress_wire::{
    http::header::{A_KEY, correction, is_idempotency_key},
    jsonrpc::Id,
    mcp::{CallParams, EnvelopeUse, Era, ProtocolError, RequestMeta, ResultOptions, told, write_call, write_output},
};
use serde_json::{json, value::RawValue};

use crate::{
    RequestContext,
    catalogue::ToolEntry,
    client_channel::ClientChannel,
    discovery,
    mcp::McpInner,
    prompts::failed,
    reply::{Reply, ReplyKind},
    request::{InRounds as _, McpRequest, Rounds},
    stream::{self, CollectedStream},
};

impl McpInner {
    pub(crate) async fn call(
        &self,
        id: Id<'_>,
        params: &CallParams<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let Some(entry) = self.catalogue.find(&params.name) else {
            return match discovery::DiscoveryTool::named(&params.name) {
                // The four are there for callers whose list shows them, and unknown to others.
                Some(found) if self.catalogue.visible(context.caller()).is_discovered() => {
                    Box::pin(self.discover(id, found, params, era, context, channel)).await
                }
                Some(_) | None => self.unknown(id, &params.name, context),
            };
        };
        let arguments = params.arguments.map(RawValue::get).unwrap_or_default();
        let arguments = entry.tidy.tidied(arguments, &self.options.dropped_fields);
        let request = match request(context, params, &arguments) {
            Ok(request) => request,
            Err(refusal) => {
                let envelope = self.registry.refuse(refusal, context.request(b""));
                return self.carry(id, &envelope, None, Some(entry), era, context);
            }
        };
        self.run(id, entry, request, era, params.rounds(context), channel).await
    }

    /// Calls the operation of `entry`, and writes how it ended.
    async fn run(
        &self,
        id: Id<'_>,
        entry: &ToolEntry,
        request: Request<'_>,
        era: Era,
        rounds: Rounds<'_>,
        channel: ClientChannel<'_>,
    ) -> Reply {
        if entry.tool.streams() {
            return self.collect(id, entry, request, era, rounds.context, channel).await;
        }
        let operation = entry.tool.operation().as_str();
        match self.turn(id, operation, request, era, rounds, channel).await {
            Ok(envelope)
                if envelope.code() == Some(EngineCode::NotFound.as_str())
                    && self.registry.changes().is_hidden(operation) =>
            {
                self.unknown(id, entry.tool.name(), rounds.context)
            }
            Ok(envelope) => self.carry_any(id, envelope, None, Some(entry), era, rounds.context).await,
            Err(reply) => reply,
        }
    }

    async fn collect(
        &self,
        id: Id<'_>,
        entry: &ToolEntry,
        request: Request<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let bounds = self.options.stream;
        match stream::collect(&self.registry, &entry.declaration, channel.attend(request), bounds, channel.notifier)
            .await
        {
            CollectedStream::Failed(envelope, before) => {
                self.carry_any(id, *envelope, before, Some(entry), era, context).await
            }
            CollectedStream::Output(output) => {
                let output = match self.options.form.envelope {
                    EnvelopeUse::Failures => output,
                    EnvelopeUse::Always => [br#"{"ok":true,"result":"#, output.as_slice(), b"}"].concat(),
                };
                self.output(id, output, era).await
            }
        }
    }

    /// Writes an output that did not come from the call path in an envelope.
    pub(crate) async fn output(&self, id: Id<'_>, output: Vec<u8>, era: Era) -> Reply {
        let carriage = self.carriage(None, era);
        let body = written(id, output.len(), move |id, body| write_output(id, &output, carriage, body)).await;
        Reply { body: body.into(), ending: ReplyKind::Result, request_id: None }
    }

    /// Writes how a call ended, off the worker where that is large.
    async fn carry_any(
        &self,
        id: Id<'_>,
        envelope: Envelope,
        more: Option<Vec<u8>>,
        entry: Option<&ToolEntry>,
        era: Era,
        context: &RequestContext,
    ) -> Reply {
        let length = envelope.output().map_or(0, <[u8]>::len) + more.as_ref().map_or(0, Vec::len);
        if length <= LARGE {
            return self.carry(id, &envelope, more.as_deref(), entry, era, context);
        }
        let (carriage, ending) = (self.carriage(entry, era), ending_of(entry, &envelope));
        let request_id = Some(envelope.meta().request_id.clone());
        let told = self.told(&envelope, context);
        let write =
            move |id: Id<'_>, body: &mut Vec<u8>| write_call(id, &envelope, &told, carriage, more.as_deref(), body);
        Reply { body: written(id, length, write).await.into(), ending, request_id }
    }

    fn carriage(&self, entry: Option<&ToolEntry>, era: Era) -> ResultOptions {
        ResultOptions {
            era,
            envelope: self.options.form.envelope,
            admits_failure: entry.is_some_and(|entry| entry.tool.admits_failure()),
            shows_blocks: entry.is_some_and(|entry| entry.tool.shows_blocks()),
            error_meta: self.options.form.error_meta,
        }
    }

    /// What the caller's model reads of a bad ending.
    fn told(&self, envelope: &Envelope, context: &RequestContext) -> String {
        let names = |name: &str| self.catalogue.spoken_to(name, context.caller());
        envelope.problem().map(|problem| told(problem, &names)).unwrap_or_default()
    }

    /// Writes how a call ended.
    pub(crate) fn carry(
        &self,
        id: Id<'_>,
        envelope: &Envelope,
        more: Option<&[u8]>,
        entry: Option<&ToolEntry>,
        era: Era,
        context: &RequestContext,
    ) -> Reply {
        let mut body = Vec::new();
        write_call(id, envelope, &self.told(envelope, context), self.carriage(entry, era), more, &mut body);
        let request_id = Some(envelope.meta().request_id.clone());
        Reply { body: body.into(), ending: ending_of(entry, envelope), request_id }
    }

    /// Refuses the key of a request that calls nothing that could take it.
    pub(crate) fn needless_key(
        &self,
        id: Id<'_>,
        asked: &McpRequest<'_>,
        era: Era,
        context: &RequestContext,
    ) -> Option<Reply> {
        if asked.runs() {
            return None;
        }
        let refusal = match keyed(context, asked.meta()) {
            Ok(keyed) if keyed.idempotency_key.is_some() => Refusal::needless_key(),
            Ok(_) => return None,
            Err(refusal) => refusal,
        };
        Some(failed(id, &self.registry.refuse(refusal, context.request(b"")), None, era))
    }

    /// Says that there is no such tool, and what is near among those that the caller may call.
    pub(crate) fn unknown(&self, id: Id<'_>, name: &str, context: &RequestContext) -> Reply {
        let visible = self.catalogue.visible(context.caller());
        let refusal = Refusal::new(EngineCode::NotFound)
            .expecting("/params/name", "the name of a tool that tools/list shows")
            .with_similar(visible.near(name))
            .with_hint("Call one of the tools that tools/list shows.");
        let envelope = self.registry.refuse(refusal, context.request(b""));
        let says = envelope.problem().map(unknown_tool).unwrap_or_default();
        let mut reply = Reply::error(id, ProtocolError::InvalidParams, &says, Some(&envelope.to_bytes()));
        reply.request_id = Some(envelope.meta().request_id.clone());
        reply
    }
}

/// What `write` writes of about `length` bytes, off the worker where they are many.
pub(crate) async fn written(
    id: Id<'_>,
    length: usize,
    write: impl FnOnce(Id<'_>, &mut Vec<u8>) + Send + 'static,
) -> Vec<u8> {
    let mut body = Vec::new();
    if length <= LARGE {
        write(id, &mut body);
        return body;
    }
    let id = id.as_json().to_owned();
    let large = move || {
        write(Id::read(&id).unwrap_or(Id::NULL), &mut body);
        body
    };
    Box::pin(offload(large)).await
}

/// What the ending of a call means to its connection; of a call of no tool, nothing.
fn ending_of(entry: Option<&ToolEntry>, envelope: &Envelope) -> ReplyKind {
    match entry {
        Some(_) if !envelope.is_ok() => ending(envelope),
        Some(_) | None => ReplyKind::Result,
    }
}

/// What is said of a tool that does not exist. Many clients show a protocol error's message and
/// nothing else of it, so the advice stands there too.
fn unknown_tool(problem: &Problem) -> String {
    let near: Vec<&str> = problem.similar.iter().map(|similar| similar.value.as_str()).collect();
    let near = if near.is_empty() { String::new() } else { format!(" Near: {}.", near.join(", ")) };
    let (code, hint, retry) = (&problem.code, &problem.hint, problem.retry.as_str());
    format!("there is no such tool ({code}, retry: {retry}). {hint}{near}")
}

/// The call that the message asks for.
fn request<'a>(context: &RequestContext, params: &CallParams<'_>, arguments: &'a str) -> Result<Request<'a>, Refusal> {
    let request = context.request(arguments.as_bytes());
    Ok(match key(params.meta.as_ref())? {
        None => request,
        Some(key) => request.with_idempotency_key(key),
    })
}

/// The idempotency key that a message carries itself. Whatever method it asks for, a key that is let be would be a
/// promise broken in silence; the call path refuses one where none is taken.
pub(crate) fn key<'a>(meta: Option<&'a RequestMeta<'_>>) -> Result<Option<&'a str>, Refusal> {
    match meta.and_then(|meta| meta.idempotency_key.as_deref()) {
        Some(key) if !is_idempotency_key(key) => Err(Refusal::new(EngineCode::InvalidRequest)
            .with_details(&json!({"member": "_meta", "expected": A_KEY}))
            .with_hint(correction(A_KEY, "as `dev.redress/idempotency_key` in `_meta`"))),
        key => Ok(key),
    }
}

/// What is known of a request, the key in its message included.
pub(crate) fn keyed<'a>(
    context: &'a RequestContext,
    meta: Option<&RequestMeta<'_>>,
) -> Result<Cow<'a, RequestContext>, Refusal> {
    Ok(match key(meta)? {
        None => Cow::Borrowed(context),
        Some(key) => Cow::Owned(RequestContext { idempotency_key: Some(key.into()), ..context.clone() }),
    })
}

/// What a bad ending means to a connection that can ask who calls.
pub(crate) fn ending(envelope: &Envelope) -> ReplyKind {
    match EngineCode::parse(envelope.code().unwrap_or_default()) {
        Some(EngineCode::AuthRequired) => ReplyKind::Unauthorized,
        Some(EngineCode::Forbidden) => match envelope.problem().and_then(|problem| problem.recovery.as_ref()) {
            Some(RecoveryStep::GetAccess { scope }) => ReplyKind::Forbidden(Arc::clone(scope)),
            Some(_) | None => ReplyKind::Result,
        },
        Some(_) | None => ReplyKind::Result,
    }
}
