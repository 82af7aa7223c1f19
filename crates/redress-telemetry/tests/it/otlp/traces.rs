//! Spans and their parents.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use opentelemetry_proto::tonic::trace::v1::{span::SpanKind, status::StatusCode};
use redress_core::{
    Operation, Registry, Request,
    contract::{Access, OperationDeclaration as Declared},
};
use redress_serve::Faces;
use redress_telemetry::{OtlpSettings, trace_headers};
use serde_json::json;
use tokio::net::TcpListener;

use super::{
    LONG,
    collector::{Collector, hex, text},
    sending,
};
use crate::service;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Calls an operation over HTTP, as a caller that has a trace of its own.
async fn call(registry: Registry, path: &str, input: &'static str, flags: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback works");
    let address = listener.local_addr().expect("loopback works");
    let server = tokio::spawn(Faces::new(registry).serve(listener, std::future::pending()));
    let answer = reqwest::Client::new()
        .post(format!("http://{address}{path}"))
        .header("content-type", "application/json")
        .header("traceparent", format!("00-{TRACE}-{CALLER}-{flags}"))
        .header("tracestate", "vendor=opaque")
        .body(input)
        .send()
        .await
        .expect("loopback works");
    server.abort();
    answer.status().as_u16()
}

#[tokio::test]
async fn a_trace_goes_from_the_caller_through_composed_calls_to_what_a_handler_calls() {
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()));
    let passed_on = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&passed_on);
    let open = |operation: Declared| operation.with_summary("A step of the trace.").with_access(Access::anyone());
    let outer = Operation::dynamic(open(Declared::query("step.outer").with_call("step.inner")))
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("step.inner", json!({})).await?) });
    let inner = Operation::dynamic(open(Declared::query("step.inner"))).with_handler(move |_, _| {
        let seen = Arc::clone(&seen);
        async move {
            tokio::task::yield_now().await;
            *seen.lock().unwrap() = trace_headers();
            Ok(json!(1))
        }
    });
    let registry = Registry::builder().add(outer).add(inner).build().unwrap();
    assert_eq!(call(registry, "/ops/step/outer", "{}", "01").await, 200);
    assert!(otlp.shutdown(LONG).await);

    let (http, outer, inner) =
        (collector.span("redress.http"), collector.span("step.outer"), collector.span("step.inner"));
    for span in [&http, &outer, &inner] {
        assert_eq!(hex(&span.trace_id), TRACE, "{}", span.name);
        assert_eq!(span.trace_state, "vendor=opaque", "{}", span.name);
    }
    assert_eq!(hex(&http.parent_span_id), CALLER);
    assert_eq!((http.kind(), outer.kind()), (SpanKind::Server, SpanKind::Internal));
    assert_eq!(outer.parent_span_id, http.span_id);
    assert_eq!(inner.parent_span_id, outer.span_id);
    assert_eq!(text(&inner.attributes, "parent_request_id"), text(&outer.attributes, "request_id"));
    let expected = vec![
        ("traceparent", format!("00-{TRACE}-{}-01", hex(&inner.span_id))),
        ("tracestate", "vendor=opaque".to_owned()),
    ];
    assert_eq!(*passed_on.lock().unwrap(), expected);
}

#[tokio::test]
async fn what_a_stream_does_is_inside_the_span_of_its_call() {
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()));
    let items = service::registry().subscribe("shop.news", Request::new(b"{}")).await.unwrap();
    assert_eq!(items.collect::<Vec<_>>().await.len(), 3);
    assert!(otlp.shutdown(LONG).await);
    let (news, look) = (collector.span("shop.news"), collector.span("shop.look"));
    assert_eq!(look.parent_span_id, news.span_id);
    assert!(news.parent_span_id.is_empty() && news.kind() == SpanKind::Server);
    let said = collector.logs().into_iter().find(|record| record.span_id == look.span_id).unwrap();
    assert_eq!(said.trace_id, news.trace_id);
}

#[tokio::test]
async fn a_span_says_how_its_call_ended_and_is_an_error_where_the_service_is_to_blame() {
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()));
    let registry = service::registry();
    for item in ["gone", "odd"] {
        registry.call("shop.order", Request::new(format!(r#"{{"item":"{item}"}}"#).into_bytes())).await;
    }
    assert!(otlp.shutdown(LONG).await);
    let spans = collector.spans();
    let [gone, odd] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((text(&gone.attributes, "code"), text(&gone.attributes, "kind")), (Some("SOLD_OUT"), Some("conflict")));
    assert_eq!(gone.status.clone().unwrap_or_default().code(), StatusCode::Unset);
    let status = odd.status.clone().unwrap();
    assert_eq!((status.code(), &*status.message), (StatusCode::Error, "INTERNAL"));
    assert!(spans.iter().all(|span| span.events.is_empty()));
}

#[tokio::test]
async fn a_caller_that_does_not_record_its_trace_is_obeyed() {
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()));
    assert_eq!(call(service::registry(), "/ops/shop/price", "{}", "00").await, 200);
    assert!(otlp.shutdown(LONG).await);
    assert!(collector.spans().is_empty());
}

#[tokio::test]
async fn where_no_trace_is_begun_here_a_caller_that_records_its_own_is_still_obeyed() {
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()).sample(0.0));
    service::registry().call("shop.price", Request::new(b"{}")).await;
    assert_eq!(call(service::registry(), "/ops/shop/price", "{}", "01").await, 200);
    assert!(otlp.shutdown(LONG).await);
    let spans = collector.spans();
    assert_eq!(spans.len(), 2, "{spans:?}");
    assert!(spans.iter().all(|span| hex(&span.trace_id) == TRACE));
}

#[test]
fn outside_of_a_trace_there_is_nothing_to_pass_on() {
    assert!(trace_headers().is_empty());
}
