//! `/errors` and `/errors/{CODE}`: the pages about codes.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use redress_contract::{Caller, Contract, EngineCode};
use redress_core::{Refusal, Registry, offload::offload};
use redress_wire::pages;

use super::reading::json_body;
use crate::{answer, service::Exchange};

/// A page for people, if they ask for HTML, else the same for programs.
pub(crate) async fn errors(exchange: Exchange) -> Response {
    let caller = match exchange.caller().await {
        Ok(caller) => caller,
        Err(refusal) => return exchange.refuse(refusal),
    };
    let registry = exchange.shared.registry.clone();
    let code = exchange.parts.uri.path().strip_prefix("/errors/").unwrap_or_default().to_owned();
    let html = exchange.asking.html;
    // A page is made of every operation that the caller may call.
    let made = offload(move || made(&registry, caller.as_deref(), &code, html)).await;
    let Some(mut page) = made else {
        let unknown = Refusal::new(EngineCode::NotFound).with_hint("Look into /errors for the codes that there are.");
        return exchange.refuse(unknown);
    };
    page.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    page
}

/// The page of a code; with none, that of all.
fn made(registry: &Registry, caller: Option<&Caller>, code: &str, as_html: bool) -> Option<Response> {
    let open = Contract::new(registry.open_to(caller).cloned());
    // A code that no operation declares at all belongs to an extension as a whole.
    let declared = |operation: &redress_contract::Operation| operation.failure(code).is_some();
    let extra = if registry.contract().operations().iter().any(declared) { None } else { registry.failure(code) };
    match (code, as_html) {
        ("", true) => Some(html(pages::index_html(&open))),
        ("", false) => Some(json_body(&pages::index_json(&open))),
        (code, true) => pages::code_html(&open, extra.as_ref(), code).map(html),
        (code, false) => pages::code_json(&open, extra.as_ref(), code).as_ref().map(json_body),
    }
}

fn html(page: String) -> Response {
    answer::body(StatusCode::OK, answer::HTML, Bytes::from(page))
}
