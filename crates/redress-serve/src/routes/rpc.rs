//! `/rpc`: JSON-RPC 2.0.

use std::{future::poll_fn, pin::pin, sync::Arc};

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
            let members: Vec<Owned> = members.iter().map(|member| Owned::of(&body, member)).collect();
            let (id, named) = (exchange.meta.own_id(), exchange.meta.request_id.clone());
            let order = Arc::new(BatchOrder::default());
            let batch = Arc::new(BatchContext::new(exchange, body, &order));
            let calls = members.into_iter().enumerate().map(|(place, member)| Arc::clone(&batch).member(place, member));
            response::with_id(answered(together(calls, order, named).await), id)
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

/// A member of a batch on its own feet, its parts those of the body that it came in.
enum Owned {
    Invalid(Bytes),
    Call { id: Option<Bytes>, method: Box<str>, params: Bytes },
}

impl Owned {
    fn of(body: &Bytes, member: &Member<'_>) -> Owned {
        let part = |part: &[u8]| if part.is_empty() { Bytes::new() } else { body.slice_ref(part) };
        // The id of what has none that can be read is not a part of the body.
        let id = |id: Id<'_>| match id == Id::NULL {
            true => Bytes::from_static(Id::NULL.as_json().as_bytes()),
            false => part(id.as_json().as_bytes()),
        };
        match member {
            Member::Invalid(invalid) => Owned::Invalid(id(*invalid)),
            Member::Call(call) => {
                Owned::Call { id: call.id.map(id), method: (&*call.method).into(), params: part(call.params) }
            }
        }
    }
}

impl BatchContext {
    async fn member(self: Arc<BatchContext>, place: usize, member: Owned) -> BatchAnswer {
        let Exchange { shared, meta, .. } = &self.exchange;
        let request =
            |input| -> Request<'_> { meta.member(shared, &self.order, place, input).with_face(Face::JsonRpc) };
        let id = match &member {
            Owned::Invalid(id) => Some(id),
            Owned::Call { id, .. } => id.as_ref(),
        };
        let id = id.and_then(|id| Id::read(std::str::from_utf8(id).ok()?));
        let mut called = pin!(async {
            let mut envelope = match &member {
                Owned::Invalid(_) => shared.registry.refuse(Refusal::new(EngineCode::InvalidRequest), request(b"")),
                Owned::Call { method, params, .. } => shared.registry.call(method, request(params)).await,
            };
            let id = id?;
            log_id(id, &envelope);
            let reservation = envelope.take_reservation();
            Some((written(id, envelope).await, reservation))
        });
        poll_fn(|cx| poll_contained(called.as_mut(), cx)).await.unwrap_or_else(|payload| {
            let lost = self.lost(place, &*payload);
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
