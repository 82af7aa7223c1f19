//! What callers of deprecated operations are told beside the answer.

use std::{panic::AssertUnwindSafe, time::Duration};

use axum::{http::HeaderValue, response::Response};
use futures_util::FutureExt as _;
use redress_wire::http;
use tokio::time::timeout;

use crate::request::service::Exchange;

/// How long it may take to tell once more who calls.
const PATIENCE: Duration = Duration::from_millis(500);

/// The answer to a call of `name`, with the headers that say that it is deprecated, where it is. Who may not call it is
/// told nothing of it, and of what stands in its place only who may see that.
pub(super) async fn told(exchange: &Exchange, name: &str, response: Response) -> Response {
    if !exchange.shared.has_deprecated {
        return response;
    }
    Box::pin(tell(exchange, name, response)).await
}

async fn tell(exchange: &Exchange, name: &str, mut response: Response) -> Response {
    let registry = &exchange.shared.registry;
    if registry.operation(name).is_none_or(|operation| operation.deprecated().is_none()) {
        return response;
    }
    // Whatever becomes of this, the call has its outcome.
    let asked = AssertUnwindSafe(exchange.caller()).catch_unwind();
    let Ok(Ok(Ok(caller))) = timeout(PATIENCE, asked).await else { return response };
    let shown = registry.disclosed_operation(name, caller.as_deref());
    if let Some(deprecation) = shown.as_ref().and_then(|operation| operation.deprecated()) {
        for (name, value) in http::deprecation(deprecation, &exchange.shared.info.server) {
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().append(name, value);
            }
        }
    }
    response
}
