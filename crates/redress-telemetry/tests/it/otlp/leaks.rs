//! Nothing leaves that may hold a secret.

use std::io;

use opentelemetry_proto::tonic::logs::v1::SeverityNumber;
use redress_core::{Layers, Request, contract::Caller, testing::Canary};
use redress_telemetry::{Metrics, OtlpSettings};
use serde_json::json;

use super::{LONG, collector::Collector, sending};
use crate::service;

#[tokio::test]
async fn no_input_cause_panic_or_credential_is_in_anything_that_leaves() {
    let canary = Canary::new();
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()));
    let registry = service::registry();
    let metrics = Metrics::new(registry.contract());
    otlp.export(&metrics);
    let registry = registry.with_layers(Layers::new().observer(metrics));
    for (item, place) in
        [("panic", "a panic"), ("disk", "a foreign error"), ("fine", "an input"), ("odd", "beside a code")]
    {
        let input = json!({"item": item, "text": canary.plant(place)}).to_string();
        registry.call("shop.order", Request::new(input.into_bytes()).with_caller(Caller::new("ada"))).await;
    }
    let broken = format!(r#"{{"item": "{}"#, canary.plant("an input that is no JSON"));
    registry.call("shop.order", Request::new(broken.into_bytes())).await;
    registry.call(&canary.plant("a name that is none"), Request::new(b"{}")).await;
    // What an author's own spans and events hold under names that say so, and errors under any name.
    let error = io::Error::other(canary.plant("an error in a field"));
    let told: &(dyn std::error::Error + 'static) = &error;
    let (token, cause) = (canary.plant("a token in a span"), canary.plant("a cause in a span"));
    tracing::info_span!("shop.own", token, cause, because = told, kept = "kept").in_scope(|| {
        tracing::error!(because = told, error = %error, password = canary.plant("a password"), "it broke");
    });
    // What libraries say of what clients have sent them.
    let said = canary.plant("what a client sent to a library");
    tracing::info_span!(target: "rmcp::service", "serve_inner", said).in_scope(|| {
        tracing::info!(target: "rmcp::service", notification = said, "received notification");
        tracing::warn!(target: "rmcp::service", message = said, "received {said}");
        tracing::warn!(target: "rmcp::service", "unexpected: {said}");
    });
    assert!(otlp.shutdown(LONG).await);
    assert!(collector.spans().len() >= 6 && collector.logs().len() >= 4, "there is something to search");
    for taken in collector.taken() {
        canary.check(&taken.path, &taken.body);
    }
    canary.assert_clean();
    let of_library = collector.logs().iter().filter(|log| log.severity_number() == SeverityNumber::Warn).count();
    assert_eq!(of_library, 2, "a warning of a library is told without its words");
    let own = collector.span("shop.own");
    assert!(own.attributes.iter().any(|attribute| attribute.key == "kept"), "{own:?}");
}
