//! `/errors` and `/errors/{CODE}`: the pages about codes.

use axum::response::Response;
use bytes::Bytes;
use redress_contract::{Caller, EngineCode};
use redress_core::{Refusal, Registry};
use redress_wire::pages;

use crate::request::{etag::TaggedDocument, response, service::Exchange};

/// A page for people, if they ask for HTML, else the same for programs.
pub(crate) async fn errors(exchange: Exchange) -> Response {
    let caller = match exchange.caller().await {
        Ok(caller) => caller,
        Err(refusal) => return exchange.refuse(refusal),
    };
    let code = exchange.parts.uri.path().strip_prefix("/errors/").unwrap_or_default();
    let html = exchange.meta.html;
    let page = || {
        let made = exchange.shared.page_of(code, html, caller.clone());
        async { made.await.unwrap_or_else(|| TaggedDocument::new(Bytes::new())) }
    };
    let page = match exchange.made(caller.as_deref(), page).await {
        Ok(page) => page,
        Err(refusal) => return exchange.refuse(refusal),
    };
    if page.bytes().is_empty() {
        let unknown = Refusal::new(EngineCode::NotFound).with_hint("Look into /errors for the codes that there are.");
        return exchange.refuse(unknown);
    }
    let media = if html { response::HTML } else { response::JSON };
    let page = page.answer(&exchange.parts.headers, media, "accept, authorization");
    if html { super::home::confined(page) } else { page }
}

/// The page of a code; with none, that of all. It is made of every operation that declares it and that the caller may call.
pub(super) fn made(registry: &Registry, caller: Option<&Caller>, code: &str, as_html: bool) -> Option<TaggedDocument> {
    let open = if code.is_empty() { registry.disclosed_to(caller) } else { registry.disclosed_with(code, caller) };
    // A code that no operation declares at all belongs to an extension as a whole.
    let extra = registry.disclosed_code(code, caller);
    let page = match (code, as_html) {
        ("", true) => pages::index_html(&open, &registry.disclosed_codes(caller)),
        ("", false) => pages::index_json(&open, &registry.disclosed_codes(caller)).to_string(),
        (code, true) => pages::code_html(&open, extra.as_ref(), code)?,
        (code, false) => pages::code_json(&open, extra.as_ref(), code)?.to_string(),
    };
    Some(TaggedDocument::new(page))
}
