//! `/rpc`: JSON-RPC 2.0.

use axum::{body::Body, http::StatusCode, response::Response};
use bytes::Bytes;
use redress_contract::{EngineCode, Envelope};
use redress_core::{Face, Refusal, Request};
use redress_wire::jsonrpc::{self, Call, Id, Member, Message, Unreadable};
use serde_json::json;

use super::together::together;
use crate::{answer, documents::Document, service::Exchange};

/// The method that OpenRPC reserves for finding out about the service.
const DISCOVER: &str = "rpc.discover";

/// One message: a request, a notification or a batch of them.
pub(crate) async fn rpc(exchange: Exchange, body: Body) -> Response {
    let body = match exchange.read(body).await {
        Ok(body) => body,
        Err(refusal) => return refuse(&exchange, refusal),
    };
    match jsonrpc::read(&body, exchange.shared.max_batch) {
        Ok(Message::Single(member)) => single(&exchange, member).await,
        Ok(Message::Batch(members)) => batch(&exchange, members).await,
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
            ok(out, answer::request_id(&envelope.meta().request_id))
        }
    }
}

async fn single(exchange: &Exchange, member: Member<'_>) -> Response {
    let shared = &exchange.shared;
    let (id, envelope) = match member {
        Member::Invalid(id) => (Some(id), exchange.refused(Refusal::new(EngineCode::InvalidRequest))),
        Member::Call(Call { id: Some(id), method, .. }) if method == DISCOVER => return discover(exchange, id).await,
        Member::Call(call) => {
            let request = exchange.asking.request(shared, call.params).with_face(Face::JsonRpc);
            (call.id, shared.registry.call(&call.method, request).await)
        }
    };
    let request_id = answer::request_id(&envelope.meta().request_id);
    let Some(id) = id else { return nothing(request_id) };
    let mut out = Vec::with_capacity(512);
    jsonrpc::write_answer(id, &envelope, &mut out);
    ok(out, request_id)
}

async fn batch(exchange: &Exchange, members: Vec<Member<'_>>) -> Response {
    let shared = &exchange.shared;
    let answers = members.into_iter().enumerate().map(|(place, member)| async move {
        let request = |input| -> Request<'_> { exchange.asking.member(shared, place, input).with_face(Face::JsonRpc) };
        match member {
            Member::Invalid(id) => {
                Some((id, shared.registry.refuse(Refusal::new(EngineCode::InvalidRequest), request(b""))))
            }
            Member::Call(call) => {
                let envelope = shared.registry.call(&call.method, request(call.params)).await;
                call.id.map(|id| (id, envelope))
            }
        }
    });
    let answers: Vec<(Id<'_>, Envelope)> = together(answers).await.into_iter().flatten().collect();
    let own_id = exchange.asking.own_id();
    if answers.is_empty() {
        return nothing(own_id);
    }
    let mut out = Vec::with_capacity(answers.len() * 512);
    for (place, (id, envelope)) in answers.iter().enumerate() {
        out.push(if place == 0 { b'[' } else { b',' });
        jsonrpc::write_answer(*id, envelope, &mut out);
    }
    out.push(b']');
    ok(out, own_id)
}

async fn discover(exchange: &Exchange, id: Id<'_>) -> Response {
    let mut out = Vec::new();
    match exchange.caller().await {
        Ok(caller) => {
            let document = exchange.shared.document(Document::OpenRpc, caller).await;
            jsonrpc::write_result(id, &document, &mut out);
            ok(out, exchange.asking.own_id())
        }
        Err(refusal) => {
            let envelope = exchange.refused(refusal);
            jsonrpc::write_answer(id, &envelope, &mut out);
            ok(out, answer::request_id(&envelope.meta().request_id))
        }
    }
}

/// Refuses what is not even read: under the status that HTTP has for it, as a response.
fn refuse(exchange: &Exchange, refusal: Refusal) -> Response {
    let envelope = exchange.refused(refusal);
    let mut out = Vec::new();
    jsonrpc::write_answer(Id::NULL, &envelope, &mut out);
    let mut response = answer::envelope(envelope);
    *response.body_mut() = Body::from(out);
    response
}

fn ok(out: Vec<u8>, request_id: Option<axum::http::HeaderValue>) -> Response {
    answer::with_id(answer::body(StatusCode::OK, answer::JSON, Bytes::from(out)), request_id)
}

/// The answer to notifications: none.
fn nothing(request_id: Option<axum::http::HeaderValue>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    answer::with_id(response, request_id)
}
