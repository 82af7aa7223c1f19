//! `POST /ops/…`: a line with the path, and the body.

use axum::http::Uri;

use super::cut;
use crate::{oracle, service};

pub(super) fn target(data: &[u8]) {
    let (path, body) = cut(data);
    let mut uri = b"/ops/".to_vec();
    uri.extend_from_slice(path);
    let Ok(uri) = Uri::try_from(uri) else { return };
    service::talk(async |service| {
        let mut request = service::post("/", body);
        *request.uri_mut() = uri.clone();
        let answer = service.send(request).await;
        oracle::bounded(&answer.body, data);
        if answer.headers["content-type"] == "text/event-stream" {
            super::subscribe::stream(&service.registry, &answer);
            return;
        }
        let ending = oracle::plain(&service.registry, &answer);
        let known = service.registry.operation(uri.path().trim_start_matches("/ops/"));
        let hidden = known.is_none_or(|operation| !operation.is_external());
        if uri.path().starts_with("/ops/") && hidden {
            assert_eq!(ending.code(), Some("NOT_FOUND"), "{uri}");
        }
    });
}
