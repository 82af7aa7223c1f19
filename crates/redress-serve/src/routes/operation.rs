//! `/ops/{namespace}/{name}`: an operation as a route of its own.
//!
//! Why so: docs/decisions/0014-a-get-is-a-call-or-a-declaration.md.

use axum::{
    body::Body,
    http::{HeaderValue, Method, header},
    response::Response,
};
use redress_contract::{EngineCode, Name, OperationDeclaration, Shape};
use redress_core::Refusal;
use redress_wire::{consent, http::FlatInput};
use serde_json::json;

use super::{deprecated::told, stream};
use crate::{
    faces::AROUND_INPUT,
    request::{
        etag::TaggedDocument,
        response,
        service::{Exchange, FacesInner},
    },
};

/// `POST`: a call, or a subscription, with the body as its input.
pub(crate) async fn operation(exchange: Exchange, body: Body) -> Response {
    let shared = &exchange.shared;
    let name = Name::from_wire(name_in(exchange.parts.uri.path()));
    let operation = shared.registry.operation(&name);
    let input = match exchange.read_within(body, max_for(shared, operation)).await {
        Ok(input) => input,
        Err(refusal) => return exchange.refuse(refusal),
    };
    told(&exchange, &name, run(&exchange, &name, operation, &input).await).await
}

/// How many bytes the input of this very operation needs. A little more is read, so that the call
/// itself refuses what is a little too large, as it does on every face.
fn max_for(shared: &FacesInner, operation: Option<&OperationDeclaration>) -> usize {
    let declared = operation.filter(|operation| operation.is_external()).and_then(OperationDeclaration::max_input);
    let input = declared.unwrap_or(shared.registry.settings().max_input);
    input.saturating_add(AROUND_INPUT).min(shared.max_body)
}

async fn run(exchange: &Exchange, name: &str, operation: Option<&OperationDeclaration>, input: &[u8]) -> Response {
    let shared = &exchange.shared;
    if operation.is_some_and(|operation| operation.shape() == Shape::Subscription) {
        return match stream::open(exchange, name, input).await {
            Ok(response) => response,
            Err(envelope) => response::problem(*envelope, None),
        };
    }
    response::plain(shared.registry.call(name, exchange.meta.request(shared, input)).await)
}

/// `GET`: a call of a query whose input is flat, with the query string as its input; of a subscription, for whoever
/// accepts events, its stream; of any other operation, and for whoever accepts nothing else, the declaration.
pub(crate) async fn operation_read(exchange: Exchange) -> Response {
    let name = Name::from_wire(name_in(exchange.parts.uri.path()));
    let Some(operation) = exchange.shared.registry.operation(&name).filter(|operation| operation.is_external()) else {
        // The path of a call knows how to say which names are near.
        let shared = &exchange.shared;
        return response::plain(shared.registry.call(&name, exchange.meta.request(shared, b"")).await);
    };
    if let (false, Some(flat)) = (exchange.meta.declaration, FlatInput::of(operation)) {
        if let Err(refusal) = exchange.admit() {
            return exchange.refuse(refusal);
        }
        let query = exchange.parts.uri.query().unwrap_or_default();
        let response = run(&exchange, &name, Some(operation), flat.read(query).as_bytes()).await;
        return vary(told(&exchange, &name, response).await);
    }
    if exchange.meta.events && operation.shape() == Shape::Subscription && exchange.parts.method == Method::GET {
        return vary(events(&exchange, &name, operation).await);
    }
    let caller = match exchange.caller().await {
        Ok(caller) => caller,
        Err(refusal) => return exchange.refuse(refusal),
    };
    let Some(operation) = exchange.shared.registry.disclosed_operation(&name, caller.as_deref()) else {
        return exchange.refuse(Refusal::new(EngineCode::NotFound));
    };
    let declaration = TaggedDocument::new(serde_json::to_vec(&*consent::shown(&operation)).unwrap_or_default());
    let media = if exchange.meta.declaration { response::OPERATION } else { response::JSON };
    declaration.answer(&exchange.parts.headers, media, "accept, authorization")
}

/// A stream that is opened by a `GET`, as a browser's `EventSource` does, with the query string as its input.
async fn events(exchange: &Exchange, name: &str, operation: &OperationDeclaration) -> Response {
    if let Err(refusal) = exchange.admit() {
        return exchange.refuse(refusal);
    }
    let Some(flat) = FlatInput::of_stream(operation) else {
        let refusal = Refusal::new(EngineCode::InvalidRequest)
            .with_details(&json!({"expected": "a body"}))
            .with_hint("Send the input as the body of a `POST`; it does not fit into a query string.");
        return exchange.refuse(refusal);
    };
    let query = exchange.parts.uri.query().unwrap_or_default();
    told(exchange, name, run(exchange, name, Some(operation), flat.read(query).as_bytes()).await).await
}

/// Says that another `Accept` would have had another answer.
fn vary(mut response: Response) -> Response {
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

fn name_in(path: &str) -> &str {
    path.strip_prefix("/ops/").unwrap_or_default()
}
