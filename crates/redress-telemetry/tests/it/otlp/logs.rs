//! Events as log records.

use opentelemetry_proto::tonic::{common::v1::any_value::Value, logs::v1::SeverityNumber};
use redress_core::Request;
use redress_telemetry::OtlpSettings;

use super::{
    LONG,
    collector::{Collector, text},
    sending,
};
use crate::service;

#[tokio::test]
async fn a_contained_fault_is_a_record_of_its_calls_span_without_its_cause() {
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()));
    let input = br#"{"item":"disk","text":"the disk is on fire"}"#;
    service::registry().call("shop.order", Request::new(input).with_request_id("req-9")).await;
    assert!(otlp.shutdown(LONG).await);
    let records = collector.logs();
    let [fault] = &records[..] else { panic!("{records:?}") };
    let said = fault.body.clone().and_then(|body| body.value);
    assert_eq!(said, Some(Value::StringValue("a fault was contained".to_owned())));
    assert_eq!(text(&fault.attributes, "request_id"), Some("req-9"));
    assert_eq!(fault.severity_number(), SeverityNumber::Error);
    assert!(text(&fault.attributes, "cause").is_none());
    let call = collector.span("shop.order");
    assert_eq!((&fault.trace_id, &fault.span_id), (&call.trace_id, &call.span_id));
}

#[tokio::test]
async fn what_is_below_info_and_what_the_sending_itself_says_does_not_leave() {
    let collector = Collector::start();
    let (otlp, _log) = sending(OtlpSettings::new(collector.endpoint()));
    tracing::debug!("too small to tell");
    tracing::info!(code = "A_CODE", count = 3_u64, ratio = 0.5, yes = true, "told");
    assert!(otlp.shutdown(LONG).await);
    let records = collector.logs();
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].attributes.len(), 4);
}
