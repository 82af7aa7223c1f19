//! `/rpc`: JSON-RPC 2.0.

use std::{borrow::Cow, future::poll_fn, ops::Range, pin::pin, sync::Arc};

use axum::{body::Body, http::StatusCode, response::Response};
use bytes::Bytes;
use redress_contract::{EngineCode, Envelope};
use redress_core::{
    BatchOrder, Face, Refusal, Request,
    contained::poll_contained,
    offload::{LARGE, offload},
};
use redress_wire::jsonrpc::{self, Id, Member, RpcCall, RpcMessage, Unreadable};
use serde_json::json;

use super::{
    batch::{BatchAnswer, together},
    deprecated::told,
    generic::{BatchContext, answered},
};
use crate::{
    request::{response, service::Exchange},
    routes::document_cache::ServedDocument,
};

/// The method that OpenRPC reserves for finding out about the service.
const DISCOVER: &str = "rpc.discover";

/// One message: a request, a notification or a batch of them.
pub(crate) async fn rpc(exchange: Exchange, body: Body) -> Response {
    let body = match exchange.read_owned(body).await {
        Ok(body) => body,
        Err(refusal) => return refuse(&exchange, refusal),
    };
    match jsonrpc::read(&body, exchange.shared.max_batch) {
        Ok(RpcMessage::Single(member)) => single(&exchange, member).await,
        Ok(RpcMessage::Batch(members)) => {
            let members: Vec<MemberAt> = members.iter().map(|member| MemberAt::of(&body, member)).collect();
            let (id, named) = (exchange.meta.own_id(), exchange.meta.request_id.clone());
            let order = Arc::new(BatchOrder::default());
            let batch = Arc::new(BatchContext::new(exchange, body, &order));
            let call = |number, member| Arc::clone(&batch).member(number, member);
            response::with_id(answered(together(members.into_iter(), call, order, named).await), id)
        }
        Err(unreadable) => {
            let refusal = match unreadable {
                Unreadable::NotJson => Refusal::new(EngineCode::ParseError),
                Unreadable::EmptyBatch => Refusal::new(EngineCode::InvalidRequest),
                Unreadable::BatchTooLarge { limit } => Refusal::new(EngineCode::InvalidRequest)
                    .with_details(&json!({"max_batch": limit}))
                    .with_hint(format!("Send at most {limit} requests in one batch.")),
            };
            let envelope = exchange.refused(refusal);
            let mut out = Vec::new();
            jsonrpc::write_answer(Id::NULL, &envelope, &mut out);
            ok(out, response::request_id(&envelope.meta().request_id))
        }
    }
}

async fn single(exchange: &Exchange, member: Member<'_>) -> Response {
    let shared = &exchange.shared;
    let mut called = None;
    let (id, mut envelope) = match member {
        Member::Invalid(id) => (Some(id), exchange.refused(Refusal::new(EngineCode::InvalidRequest))),
        Member::Call(RpcCall { id: Some(id), method, .. }) if method == DISCOVER => {
            return discover(exchange, id).await;
        }
        Member::Call(call) => {
            let request = exchange.meta.request(shared, call.params).with_face(Face::JsonRpc);
            let envelope = shared.registry.call(&call.method, request).await;
            called = Some(call.method);
            (call.id, envelope)
        }
    };
    let request_id = response::request_id(&envelope.meta().request_id);
    let Some(id) = id else { return nothing(request_id) };
    log_id(id, &envelope);
    let reservation = envelope.take_reservation();
    let out = written(id, envelope).await;
    let response =
        response::with_id(response::body(StatusCode::OK, response::JSON, response::held(out, reservation)), request_id);
    match called {
        Some(method) => told(exchange, &method, response).await,
        None => response,
    }
}

/// A member of a batch by where its parts stand in the body, which the batch holds: a batch has many.
enum MemberAt {
    Invalid(IdAt),
    Call { id: Option<IdAt>, method: MethodAt, params: Range<usize> },
}

/// Where an id is written; nowhere, where there is none that can be read.
type IdAt = Option<Range<usize>>;

/// The name of a method.
enum MethodAt {
    /// As it is written.
    Written(Range<usize>),
    /// Without the escapes that it is written with.
    Unescaped(Box<str>),
}

impl MemberAt {
    fn of(body: &[u8], member: &Member<'_>) -> MemberAt {
        let id = |id: Id<'_>| (id != Id::NULL).then(|| place(body, id.as_json().as_bytes()));
        match member {
            Member::Invalid(invalid) => MemberAt::Invalid(id(*invalid)),
            Member::Call(call) => MemberAt::Call {
                id: call.id.map(id),
                method: match &call.method {
                    Cow::Borrowed(method) => MethodAt::Written(place(body, method.as_bytes())),
                    Cow::Owned(method) => MethodAt::Unescaped(method.as_str().into()),
                },
                params: place(body, call.params),
            },
        }
    }
}

/// Where a part of the body stands in it.
fn place(body: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(body.as_ptr().addr());
    // What is empty may stand anywhere.
    if part.is_empty() || start > body.len() { 0..0 } else { start..start + part.len() }
}

impl BatchContext {
    async fn member(self: Arc<BatchContext>, number: usize, member: MemberAt) -> BatchAnswer {
        let Exchange { shared, meta, .. } = &self.exchange;
        let part = |place: &Range<usize>| self.body.get(place.clone()).unwrap_or_default();
        let text = |place: &Range<usize>| std::str::from_utf8(part(place)).unwrap_or_default();
        let id = |place: &IdAt| place.as_ref().map_or(Some(Id::NULL), |place| Id::read(text(place)));
        let request =
            |input| -> Request<'_> { meta.member(shared, &self.order, number, input).with_face(Face::JsonRpc) };
        let id = match &member {
            MemberAt::Invalid(at) => id(at),
            MemberAt::Call { id: at, .. } => at.as_ref().and_then(id),
        };
        let mut called = pin!(async {
            let mut envelope = match &member {
                MemberAt::Invalid(_) => shared.registry.refuse(Refusal::new(EngineCode::InvalidRequest), request(b"")),
                MemberAt::Call { method, params, .. } => {
                    let method = match method {
                        MethodAt::Written(place) => text(place),
                        MethodAt::Unescaped(method) => method,
                    };
                    shared.registry.call(method, request(part(params))).await
                }
            };
            let id = id?;
            log_id(id, &envelope);
            let reservation = envelope.take_reservation();
            Some((written(id, envelope).await, reservation))
        });
        poll_fn(|cx| poll_contained(called.as_mut(), cx)).await.unwrap_or_else(|payload| {
            let lost = self.lost(number, &*payload);
            let mut out = Vec::new();
            jsonrpc::write_answer(id?, &lost, &mut out);
            Some((out, None))
        })
    }
}

/// The answer as a response. A large one is copied off the worker.
async fn written(id: Id<'_>, envelope: Envelope) -> Vec<u8> {
    fn write(id: Id<'_>, envelope: &Envelope) -> Vec<u8> {
        let mut out = Vec::new();
        jsonrpc::write_answer(id, envelope, &mut out);
        out
    }
    if envelope.output().is_none_or(|output| output.len() <= LARGE) {
        return write(id, &envelope);
    }
    let id = id.as_json().to_owned();
    Box::pin(offload(move || write(Id::read(&id).unwrap_or(Id::NULL), &envelope))).await
}

/// Says by which id the client knows the call, so that what it reports can be found.
fn log_id(id: Id<'_>, envelope: &Envelope) {
    tracing::debug!(request_id = %envelope.meta().request_id, jsonrpc_id = id.as_json(), "a call of JSON-RPC has ended");
}

async fn discover(exchange: &Exchange, id: Id<'_>) -> Response {
    let mut out = Vec::new();
    match exchange.caller().await {
        Ok(caller) => {
            let made = || async {
                let mut out = Vec::new();
                let document = exchange.shared.document(ServedDocument::OpenRpc, caller.clone()).await;
                jsonrpc::write_result(id, document.bytes(), &mut out);
                document.map(|_| Bytes::from(out))
            };
            match exchange.made(caller.as_deref(), made).await {
                Ok(out) => response::with_id(
                    response::body(StatusCode::OK, response::JSON, out.bytes().clone()),
                    exchange.meta.own_id(),
                ),
                Err(refusal) => refuse(exchange, refusal),
            }
        }
        Err(refusal) => {
            let envelope = exchange.refused(refusal);
            jsonrpc::write_answer(id, &envelope, &mut out);
            ok(out, response::request_id(&envelope.meta().request_id))
        }
    }
}

/// Refuses what is not even read: under the status that HTTP has for it, as a response.
fn refuse(exchange: &Exchange, refusal: Refusal) -> Response {
    let envelope = exchange.refused(refusal);
    let mut out = Vec::new();
    jsonrpc::write_answer(Id::NULL, &envelope, &mut out);
    let mut response = response::envelope(envelope);
    *response.body_mut() = Body::from(out);
    response
}

fn ok(out: Vec<u8>, request_id: Option<axum::http::HeaderValue>) -> Response {
    response::with_id(response::body(StatusCode::OK, response::JSON, Bytes::from(out)), request_id)
}

/// The answer to notifications: none.
fn nothing(request_id: Option<axum::http::HeaderValue>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response::with_id(response, request_id)
}
