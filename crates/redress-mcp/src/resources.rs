//! `resources/read`, and asking to be told when a document changes.

use std::collections::BTreeSet;

use redress_contract::{Access, EngineCode, Envelope, OperationDeclaration, ResourceContents};
use redress_core::{Refusal, offload::LARGE};
use redress_wire::{
    jsonrpc::Id,
    mcp::{CacheScope, Caching, Era, ProtocolError, ReadParams, write_contents},
};

use crate::{
    RequestContext, builtin, call,
    client_channel::ClientChannel,
    mcp::McpInner,
    prompts::failed,
    prompts_and_resources::PromptOrResource,
    reply::{Reply, ReplyKind, with_member},
    request::InRounds as _,
    session::{MAX_DOCUMENTS, ResourceSubscriptions, Session},
};

/// What is in a document may be another thing at any time, and is for who asked.
const FRESH: Caching = Caching { ttl_ms: 0, scope: CacheScope::Private };

/// The longest URI that is looked for.
const LONGEST_URI: usize = 8 * 1024;

impl McpInner {
    pub(crate) async fn read(
        &self,
        id: Id<'_>,
        params: &ReadParams<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let uri = &*params.uri;
        let refused = |refusal| failed(id, &self.registry.refuse(refusal, context.request(b"")), Some(uri), era);
        let keyed = match call::keyed(context, params.meta.as_ref()) {
            Ok(keyed) => keyed,
            Err(refusal) => return refused(refusal),
        };
        if let Some((operation, input)) = self.document(uri) {
            let request = keyed.request(&input);
            let envelope =
                match self.turn(id, operation.name().as_str(), request, era, params.rounds(context), channel).await {
                    Ok(envelope) => envelope,
                    Err(reply) => return reply,
                };
            let Some(output) = envelope.output() else {
                return failed(id, &envelope, Some(uri), era);
            };
            let request_id = Some(envelope.meta().request_id.clone());
            if output.len() <= LARGE {
                return Reply { request_id, ..contents(id, &operation.parts(uri, output), era) };
            }
            let (registry, name, uri) = (self.registry.clone(), operation.name().clone(), uri.to_owned());
            let body = call::written(id, output.len(), move |id, body| {
                let operation = registry.operation(name.as_str());
                let parts = operation.zip(envelope.output()).map(|(operation, output)| operation.parts(&uri, output));
                write_contents(id, &parts.unwrap_or_default(), era, FRESH, body);
            });
            return Reply { body: body.await.into(), ending: ReplyKind::Result, request_id };
        }
        if let Some((item, about)) = self.prompts_and_resources.builtin(uri) {
            if keyed.idempotency_key.is_some() {
                return refused(Refusal::needless_key());
            }
            let about = about.unwrap_or_default();
            let name = item.operation.name().as_str();
            if let Some(document) = builtin::read(&self.registry, name, &about, context.caller.clone()).await {
                return contents(id, &[ResourceContents::text(uri, "application/json", document.to_string())], era);
            }
        }
        self.no_document(id, uri, era, context)
    }

    /// Takes note that the client wants to be told when a document changes.
    pub(crate) async fn subscribe(
        &self,
        id: Id<'_>,
        uri: &str,
        era: Era,
        context: &RequestContext,
        session: &Session,
    ) -> Reply {
        match self.may_read(&[uri], context).await {
            Ok(may) if may == [true] => {}
            Ok(_) => return self.no_document(id, uri, era, context),
            Err(envelope) => return failed(id, &envelope, Some(uri), era),
        }
        if !session.subscribe(uri) {
            return self.refuse(&crate::refusal::Unfit::Documents, id, context);
        }
        Reply::result(id, b"{}")
    }

    /// At which of `uris` there is a document that the caller may read: that it changes is told to nobody else. All
    /// that has to be asked of the operations is asked at once, so that one message takes the time and the limits of
    /// one call; where those refuse it, what they say comes back.
    async fn may_read(&self, uris: &[&str], context: &RequestContext) -> Result<Vec<bool>, Envelope> {
        let mut calls = Vec::new();
        let judged: Vec<Option<bool>> = uris
            .iter()
            .map(|uri| {
                let document = self.document(uri);
                let item = document.as_ref().and_then(|(operation, _)| self.prompts_and_resources.of(operation));
                let item = item.or_else(|| self.prompts_and_resources.builtin(uri).map(|(item, _)| item));
                if !item.is_some_and(|item: &PromptOrResource| item.is_open(&self.registry, context.caller())) {
                    return Some(false);
                }
                let asks = |access: &Access| access.is_checked() || access.needs_consent();
                match document.filter(|(operation, _)| asks(operation.access())) {
                    None => Some(true),
                    Some(call) => {
                        calls.push(call);
                        None
                    }
                }
            })
            .collect();
        if calls.is_empty() {
            return Ok(judged.into_iter().flatten().collect());
        }
        let wanted: Vec<(&str, &[u8])> =
            calls.iter().map(|(operation, input)| (operation.name().as_str(), input.as_slice())).collect();
        let mut allowed = self.registry.allows(&wanted, context.request(b"")).await?.into_iter();
        Ok(judged.into_iter().map(|known| known.or_else(|| allowed.next()).unwrap_or(false)).collect())
    }

    /// Those of `uris` at which there is a document that the caller may read: which ones are listened for is the first
    /// thing that the client is told. Where the limits refuse to ask for them, what they say comes back.
    pub(crate) async fn readable(
        &self,
        uris: &BTreeSet<String>,
        context: &RequestContext,
    ) -> Result<BTreeSet<String>, Envelope> {
        let uris: Vec<&str> = uris.iter().take(MAX_DOCUMENTS).map(String::as_str).collect();
        let may = self.may_read(&uris, context).await?;
        let mut documents = ResourceSubscriptions::default();
        for (uri, _) in uris.iter().zip(may).filter(|(_, may)| *may) {
            documents.add(uri);
        }
        Ok(documents.into_names())
    }

    /// The operation that gives the document at `uri`, where it is shown, and its input.
    fn document(&self, uri: &str) -> Option<(&OperationDeclaration, Vec<u8>)> {
        if uri.len() > LONGEST_URI {
            return None;
        }
        self.registry.resource(uri).filter(|(operation, _)| self.prompts_and_resources.of(operation).is_some())
    }

    fn no_document(&self, id: Id<'_>, uri: &str, era: Era, context: &RequestContext) -> Reply {
        let hint = "Read one of the documents that resources/list shows, or fill in a template.";
        let refusal = Refusal::new(EngineCode::NotFound)
            .expecting("/params/uri", "a document that resources/list or a template shows")
            .with_hint(hint);
        let envelope = self.registry.refuse(refusal, context.request(b""));
        // What was sent comes back, as the protocol asks, but no more of it than a URI has.
        let said: String = uri.chars().take(LONGEST_URI).collect();
        let data = with_member(&envelope, "uri", &said.into());
        let error = ProtocolError::ResourceNotFound(era);
        let mut reply = Reply::error(id, error, "there is no such document", Some(&data));
        reply.request_id = Some(envelope.meta().request_id.clone());
        reply
    }
}

fn contents(id: Id<'_>, parts: &[ResourceContents], era: Era) -> Reply {
    let mut body = Vec::with_capacity(512);
    write_contents(id, parts, era, FRESH, &mut body);
    Reply { body: body.into(), ending: ReplyKind::Result, request_id: None }
}
