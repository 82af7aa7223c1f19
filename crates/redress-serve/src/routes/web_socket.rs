//! A connection for many calls.

use axum::response::Response;

use crate::{service::Exchange, ws::Who};

pub(crate) async fn web_socket(mut exchange: Exchange) -> Response {
    if let Err(refusal) = exchange.admit() {
        return exchange.refuse(refusal);
    }
    let who = Who { caller: exchange.asking.caller.clone(), token: exchange.asking.token.clone() };
    let shared = std::sync::Arc::clone(&exchange.shared);
    match shared.web_sockets.upgrade(&shared.registry, &shared.shutdown, who, &mut exchange.parts).await {
        Ok(response) => response,
        Err(refusal) => exchange.refuse(refusal),
    }
}
