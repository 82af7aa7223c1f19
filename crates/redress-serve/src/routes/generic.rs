//! `/call`, `/batch` and `/subscribe`: any operation, named in the message.

use std::borrow::Cow;

use axum::{body::Body, http::StatusCode, response::Response};
use bytes::Bytes;
use redress_contract::EngineCode;
use redress_core::Refusal;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{stream, together::together};
use crate::{answer, service::Exchange};

/// What a message asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    #[serde(borrow)]
    operation: Cow<'a, str>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

impl<'a> Asked<'a> {
    fn read(body: &'a [u8]) -> Result<Asked<'a>, Refusal> {
        let asked = read(body)?;
        // Derived code alone would take an array too, for its members in their order.
        if body.trim_ascii_start().starts_with(b"{") {
            Ok(asked)
        } else {
            Err(Refusal::new(EngineCode::InvalidRequest))
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
    let envelope = match asked.as_deref().map_err(Clone::clone).and_then(Asked::read) {
        Ok(asked) => shared.registry.call(&asked.operation, exchange.asking.request(shared, asked.input())).await,
        Err(refusal) => exchange.refused(refusal),
    };
    answer::envelope(envelope)
}

/// Several calls at once, answered in their order.
pub(crate) async fn batch(exchange: Exchange, body: Body) -> Response {
    let body = match exchange.read(body).await {
        Ok(body) => body,
        Err(refusal) => return answer::envelope(exchange.refused(refusal)),
    };
    let limit = exchange.shared.max_batch;
    let members = match read::<Vec<&RawValue>>(&body) {
        Ok(members) if (1..=limit).contains(&members.len()) => members,
        Ok(_) => {
            let refusal = Refusal::new(EngineCode::InvalidRequest)
                .with_details(&json!({"max_batch": limit}))
                .with_hint(format!("Send an array of 1 to {limit} calls."));
            return answer::envelope(exchange.refused(refusal));
        }
        Err(refusal) => return answer::envelope(exchange.refused(refusal)),
    };
    let shared = &exchange.shared;
    let calls = members.iter().enumerate().map(|(place, member)| {
        let exchange = &exchange;
        async move {
            match Asked::read(member.get().as_bytes()) {
                Ok(asked) => {
                    let request = exchange.asking.member(shared, place, asked.input());
                    shared.registry.call(&asked.operation, request).await
                }
                Err(refusal) => shared.registry.refuse(refusal, exchange.asking.member(shared, place, b"")),
            }
        }
    });
    let envelopes = together(calls).await;
    let mut answers = Vec::with_capacity(envelopes.len() * 256);
    for (place, envelope) in envelopes.iter().enumerate() {
        answers.push(if place == 0 { b'[' } else { b',' });
        envelope.write_to(&mut answers);
    }
    answers.push(b']');
    let id = exchange.asking.own_id();
    answer::with_id(answer::body(StatusCode::OK, answer::JSON, Bytes::from(answers)), id)
}

/// One subscription, answered with a stream of events.
pub(crate) async fn subscribe(exchange: Exchange, body: Body) -> Response {
    let body = exchange.read(body).await;
    let asked = match body.as_deref().map_err(Clone::clone).and_then(Asked::read) {
        Ok(asked) => asked,
        Err(refusal) => return answer::envelope(exchange.refused(refusal)),
    };
    match stream::open(&exchange, &asked.operation, asked.input()).await {
        Ok(response) => response,
        Err(envelope) => answer::envelope(*envelope),
    }
}

/// Reads a message, or tells whether it is not JSON or not a request.
fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|_| {
        let is_json = serde_json::from_slice::<&RawValue>(body).is_ok();
        Refusal::new(if is_json { EngineCode::InvalidRequest } else { EngineCode::ParseError })
    })
}
