//! What can be read about the service: its operations, its documents, its health.

use std::sync::Arc;

use axum::{http::StatusCode, response::Response};
use bytes::Bytes;
use redress_contract::Caller;
use redress_core::{Refusal, offload::offload};
use serde_json::json;

use crate::{
    request::{etag::TaggedDocument, response, service::Exchange},
    routes::{discovery, document_cache::ServedDocument},
};

/// What a document depends on.
const BY_CALLER: &str = "authorization";

impl Exchange {
    /// Who asks, outside a call. A token that tells nobody is refused, as in a call, and so are headers
    /// that leave open who it is.
    pub(crate) async fn caller(&self) -> Result<Option<Arc<Caller>>, Refusal> {
        self.meta.check()?;
        let (Some(token), Some(_)) = (&self.meta.token, self.shared.registry.identity()) else {
            return Ok(self.meta.caller.clone());
        };
        self.shared.registry.identify(&token.secret()).await.map(Some).map_err(Refusal::unidentified)
    }
}

/// The operations that the caller may call.
pub(crate) async fn operations(exchange: Exchange) -> Response {
    match exchange.caller().await {
        Ok(caller) => {
            let listed = || {
                let (registry, caller) = (exchange.shared.registry.clone(), caller.clone());
                offload(move || {
                    let open = discovery::listed(registry.open_to(caller.as_deref()));
                    TaggedDocument::new(json!({"operations": open}).to_string())
                })
            };
            match exchange.made(caller.as_deref(), listed).await {
                Ok(list) => list.answer(&exchange.parts.headers, response::JSON, BY_CALLER),
                Err(refusal) => exchange.refuse(refusal),
            }
        }
        Err(refusal) => exchange.refuse(refusal),
    }
}

/// A document about the operations that the caller may call.
pub(crate) async fn document(exchange: Exchange) -> Response {
    let caller = match exchange.caller().await {
        Ok(caller) => caller,
        Err(refusal) => return exchange.refuse(refusal),
    };
    let document = match exchange.parts.uri.path() {
        "/openapi.json" => ServedDocument::OpenApi,
        "/openrpc.json" => ServedDocument::OpenRpc,
        _ => ServedDocument::Contract,
    };
    match exchange.made(caller.as_deref(), || exchange.shared.document(document, caller.clone())).await {
        Ok(document) => document.answer(&exchange.parts.headers, response::JSON, BY_CALLER),
        Err(refusal) => exchange.refuse(refusal),
    }
}

/// That the service runs.
pub(crate) fn health() -> Response {
    response::body(StatusCode::OK, response::JSON, Bytes::from_static(br#"{"status":"ok"}"#))
}
