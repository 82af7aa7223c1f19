//! `/call`, `/batch` and `/subscribe`: any operation, named in the message.

use std::{any::Any, borrow::Cow, future::poll_fn, pin::pin, sync::Arc};

use axum::{
    body::Body,
    http::{StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use redress_contract::{EngineCode, Envelope};
use redress_core::{BatchOrder, Refusal, contained::poll_contained};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    batch::{BatchAnswer, BatchCalls, together},
    deprecated::told,
    stream,
};
use crate::request::{body::CollectedBody, body_budget::BodyBudget, response, service::Exchange};

/// What a message asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GenericCall<'a> {
    #[serde(borrow)]
    operation: Cow<'a, str>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

impl<'a> GenericCall<'a> {
    fn read(body: &'a [u8]) -> Result<GenericCall<'a>, Refusal> {
        // Derived code alone would take an array too, for its members in their order.
        let is_object = body.trim_ascii_start().starts_with(b"{");
        match serde_json::from_slice(body) {
            Ok(asked) if is_object => Ok(asked),
            Ok(_) => Err(no_call(is_object, body)),
            Err(_) if serde_json::from_slice::<&RawValue>(body).is_err() => Err(Refusal::new(EngineCode::ParseError)),
            Err(_) => Err(no_call(is_object, body)),
        }
    }

    fn input(&self) -> &[u8] {
        self.input.map(|input| input.get().as_bytes()).unwrap_or_default()
    }
}

/// One call, answered with its envelope.
pub(crate) async fn call(exchange: Exchange, body: Body) -> Response {
    let asked = exchange.read(body).await;
    let shared = &exchange.shared;
    match asked.as_deref().map_err(Clone::clone).and_then(|body| GenericCall::read(body)) {
        Ok(asked) => {
            let request = exchange.meta.request(shared, asked.input());
            let envelope = shared.registry.call(&asked.operation, request).await;
            told(&exchange, &asked.operation, response::envelope(envelope)).await
        }
        Err(refusal) => response::envelope(exchange.refused(refusal)),
    }
}

/// Several calls at once, answered in their order.
pub(crate) async fn batch(exchange: Exchange, body: Body) -> Response {
    let body = match exchange.read_owned(body).await {
        Ok(body) => body,
        Err(refusal) => return response::envelope(exchange.refused(refusal)),
    };
    let limit = exchange.shared.max_batch;
    let members = match read_batch(&body) {
        Ok(members) if (1..=limit).contains(&members.len()) => members,
        Ok(_) => {
            let refusal = Refusal::new(EngineCode::InvalidRequest)
                .with_details(&json!({"max_batch": limit}))
                .with_hint(format!("Send an array of 1 to {limit} calls."));
            return response::envelope(exchange.refused(refusal));
        }
        Err(refusal) => return response::envelope(exchange.refused(refusal)),
    };
    let members: Vec<Bytes> = members.iter().map(|member| body.slice_ref(member.get().as_bytes())).collect();
    let (id, named) = (exchange.meta.own_id(), exchange.meta.request_id.clone());
    let order = Arc::new(BatchOrder::default());
    let batch = Arc::new(BatchContext::new(exchange, body, &order));
    let call = |number, member| Arc::clone(&batch).call(number, member);
    response::with_id(answered(together(members.into_iter(), call, order, named).await), id)
}

/// What the calls of a batch share.
pub(super) struct BatchContext {
    pub(super) exchange: Exchange,
    pub(super) order: Arc<BatchOrder>,
    pub(super) body: CollectedBody<Arc<BodyBudget>>,
}

impl BatchContext {
    pub(super) fn new(
        mut exchange: Exchange,
        body: CollectedBody<Arc<BodyBudget>>,
        order: &Arc<BatchOrder>,
    ) -> BatchContext {
        exchange.meta.account = Some(exchange.line.account_of_many.clone());
        BatchContext { exchange, order: Arc::clone(order), body }
    }

    async fn call(self: Arc<BatchContext>, place: usize, member: Bytes) -> BatchAnswer {
        let Exchange { shared, meta, .. } = &self.exchange;
        let mut called = pin!(async {
            let mut envelope = match GenericCall::read(&member) {
                Ok(asked) => {
                    let request = meta.member(shared, &self.order, place, asked.input());
                    shared.registry.call(&asked.operation, request).await
                }
                Err(refusal) => shared.registry.refuse(refusal, meta.member(shared, &self.order, place, b"")),
            };
            let reservation = envelope.take_reservation();
            (envelope.into_bytes(), reservation)
        });
        let called = poll_fn(|cx| poll_contained(called.as_mut(), cx)).await;
        Some(called.unwrap_or_else(|payload| (self.lost(place, &*payload).into_bytes(), None)))
    }

    /// The outcome of a call of the batch whose own was lost by a panic.
    pub(super) fn lost(&self, place: usize, payload: &(dyn Any + Send)) -> Envelope {
        let Exchange { shared, meta, .. } = &self.exchange;
        shared.registry.lost(payload, meta.member(shared, &self.order, place, b""))
    }
}

/// The answer to a batch.
pub(super) fn answered(together: BatchCalls) -> Response {
    match together {
        BatchCalls::Nothing => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        BatchCalls::Whole(json) => response::body(StatusCode::OK, response::JSON, json),
        BatchCalls::Streamed(body) => {
            let mut response = Response::new(body);
            response.headers_mut().insert(header::CONTENT_TYPE, response::JSON);
            response
        }
    }
}

/// One subscription, answered with a stream of events.
pub(crate) async fn subscribe(exchange: Exchange, body: Body) -> Response {
    let body = exchange.read(body).await;
    let asked = match body.as_deref().map_err(Clone::clone).and_then(|body| GenericCall::read(body)) {
        Ok(asked) => asked,
        Err(refusal) => return response::envelope(exchange.refused(refusal)),
    };
    match stream::open(&exchange, &asked.operation, asked.input()).await {
        Ok(response) => told(&exchange, &asked.operation, response).await,
        Err(envelope) => response::envelope(*envelope),
    }
}

/// Reads the calls of a batch, or tells whether it is not JSON or no array.
fn read_batch(body: &[u8]) -> Result<Vec<&RawValue>, Refusal> {
    serde_json::from_slice(body).map_err(|_| match serde_json::from_slice::<&RawValue>(body) {
        Ok(_) => Refusal::new(EngineCode::InvalidRequest).expecting("", "an array of calls"),
        Err(_) => Refusal::new(EngineCode::ParseError),
    })
}

/// Says what JSON that is no call lacks.
fn no_call(is_object: bool, body: &[u8]) -> Refusal {
    #[derive(Deserialize)]
    struct NamedOperation<'a> {
        #[serde(borrow)]
        #[expect(dead_code, reason = "it is read to see whether it can be")]
        operation: Cow<'a, str>,
    }
    let (pointer, expected) = if is_object && serde_json::from_slice::<NamedOperation<'_>>(body).is_err() {
        ("/operation", "the name of an operation")
    } else {
        ("", "an object with `operation`, with or without `input`, each once and nothing else")
    };
    Refusal::new(EngineCode::InvalidRequest).expecting(pointer, expected)
}
