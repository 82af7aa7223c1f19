//! `GET /ops/demo/search?…`: an input in a query string.

use axum::{
    body::Body,
    http::{Request, Uri},
};
use redress_wire::http::FlatInput;
use serde_json::Value;

use crate::{
    oracle::{self, Ending},
    service,
};

pub(super) fn target(data: &[u8]) {
    let mut uri = b"/ops/demo/search?".to_vec();
    uri.extend_from_slice(data);
    let Ok(uri) = Uri::try_from(uri) else { return };
    service::talk(async |service| {
        let mut request = Request::get("/").body(Body::empty()).expect("the path is written here");
        *request.uri_mut() = uri.clone();
        let answer = service.send(request).await;
        oracle::bounded(&answer.body, data);
        let ending = oracle::plain(&service.registry, &answer);
        let operation = service.registry.operation("demo.search").expect("it is registered");
        let query = uri.query().unwrap_or_default();
        let input = FlatInput::of(operation).expect("its input is flat").read(query);
        // The same as a body ends the same, but for what only `Accept` decides.
        let posted = oracle::plain(&service.registry, &service.post("/ops/demo/search", input.as_bytes()).await);
        assert_eq!(ending, posted, "{input}");
        let Ending::Well(output) = ending else { return };
        // The operation gives back what it took: nothing was lost, added or read as something else.
        let given: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let texts = given.iter().filter(|(name, _)| name == "text").map(|(_, value)| value.as_str());
        assert_eq!(texts.collect::<Vec<_>>(), [output["text"].as_str().unwrap_or_default()], "{query}");
        let tags: Vec<Value> =
            given.iter().filter(|(name, _)| name == "tags").map(|(_, value)| value.as_str().into()).collect();
        assert_eq!(
            output.get("tags").cloned().unwrap_or_else(|| Value::Array(Vec::new())),
            Value::Array(tags),
            "{query}"
        );
    });
}
