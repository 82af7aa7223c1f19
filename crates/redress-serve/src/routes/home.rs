//! `/`: where a person who has only the address finds everything else.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use redress_core::offload::offload;
use redress_wire::pages;

use crate::request::{etag::TaggedDocument, response, service::Exchange};

/// A page that leads on, for whoever asks for HTML. Programs find nothing here, and are told where to look.
pub(crate) async fn home(exchange: Exchange) -> Response {
    if !exchange.meta.html {
        return exchange.nowhere();
    }
    let caller = match exchange.caller().await {
        Ok(caller) => caller,
        Err(refusal) => return exchange.refuse(refusal),
    };
    let made = || {
        let (registry, info, caller) = (exchange.shared.registry.clone(), exchange.shared.info.clone(), caller.clone());
        offload(move || {
            let open = registry.disclosed_to(caller.as_deref());
            TaggedDocument::new(pages::home_html(&open, &info, cfg!(feature = "mcp")))
        })
    };
    match exchange.made(caller.as_deref(), made).await {
        Ok(page) => confined(page.answer(&exchange.parts.headers, response::HTML, "accept, authorization")),
        Err(refusal) => exchange.refuse(refusal),
    }
}

/// A page that may do nothing but be looked at: it has no script, and loads nothing.
pub(super) fn confined(mut response: Response) -> Response {
    let policy = HeaderValue::from_static(pages::CONTENT_SECURITY_POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}
