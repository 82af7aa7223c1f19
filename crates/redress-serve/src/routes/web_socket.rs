//! A connection for many calls.

use std::sync::Arc;

use axum::response::Response;
use redress_core::Refusal;

use crate::{
    request::{bearer::Bearer, meta::Trace, service::Exchange},
    ws::SocketOwner,
};

pub(crate) async fn web_socket(mut exchange: Exchange) -> Response {
    if let Err(refusal) = exchange.admit() {
        return exchange.refuse(refusal);
    }
    let meta = &exchange.meta;
    // Browsers ask before a page of elsewhere may send JSON, and do not before it may open a
    // WebSocket: cross-site WebSocket hijacking (CSWSH). What they would be told is told here.
    if !meta.page.may_call() {
        return exchange.refuse(Refusal::foreign_page());
    }
    let address = meta.peer.map(|peer| peer.ip());
    let handshake = meta.handshake(&exchange.parts.headers);
    let trace = Trace::of(&exchange.parts.headers);
    let token = meta.token.as_ref().map(Bearer::secret);
    let who = SocketOwner { caller: meta.caller.clone(), handshake, token, address, trace };
    let (shared, line) = (Arc::clone(&exchange.shared), Arc::clone(&exchange.line));
    match shared.web_sockets.upgrade(&shared, &line, who, &mut exchange.parts).await {
        Ok(response) => response,
        Err(refusal) => exchange.refuse(refusal),
    }
}
