//! What is counted, and under which labels.

use std::{sync::Arc, time::Duration};

use redress_core::{Face, Layers, Limit, Limited, LimitedCall, Permit, Registry, Request, contract::Caller};
use redress_telemetry::{MetricName, Metrics, names};

use crate::service;

fn counted() -> (Registry, Arc<Metrics>) {
    let registry = service::registry();
    let metrics = Metrics::new(registry.contract());
    (registry.with_layers(Layers::new().observer(metrics.clone())), metrics)
}

/// The value of one line of the text.
#[track_caller]
fn value(metrics: &Metrics, series: &str) -> f64 {
    let text = metrics.text();
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().expect("a value is a number")
}

#[tokio::test]
async fn every_way_a_call_can_end_is_counted_once_by_operation_face_and_outcome() {
    let (registry, metrics) = counted();
    let order = |item: &str| Request::new(format!(r#"{{"item":"{item}"}}"#).into_bytes()).with_face(Face::Http);
    for item in ["fine", "gone", "odd", "panic", "disk"] {
        registry.call("shop.order", order(item)).await;
    }
    registry.call("shop.order", Request::new(b"no json").with_face(Face::JsonRpc)).await;
    registry.call("shop.wait", Request::new(b"{}")).await;
    registry.call("shop.nowhere", Request::new(b"{}").with_face(Face::Mcp)).await;
    for (series, expected) in [
        (r#"redress_calls_total{operation="shop.order",face="http",outcome="ok"}"#, 1.0),
        (r#"redress_calls_total{operation="shop.order",face="http",outcome="failure"}"#, 1.0),
        (r#"redress_calls_total{operation="shop.order",face="http",outcome="fault"}"#, 3.0),
        (r#"redress_calls_total{operation="shop.order",face="jsonrpc",outcome="refused"}"#, 1.0),
        // The face of a composed call is that of the call at its root.
        (r#"redress_calls_total{operation="shop.price",face="http",outcome="ok"}"#, 1.0),
        (r#"redress_calls_total{operation="other",face="mcp",outcome="refused"}"#, 1.0),
        (r#"redress_failures_total{operation="shop.order",code="SOLD_OUT",kind="conflict"}"#, 1.0),
        (r#"redress_failures_total{operation="shop.order",code="INTERNAL",kind="internal"}"#, 3.0),
        (r#"redress_failures_total{operation="shop.order",code="PARSE_ERROR",kind="parse"}"#, 1.0),
        (r#"redress_failures_total{operation="shop.wait",code="TIMEOUT",kind="timeout"}"#, 1.0),
        (r#"redress_failures_total{operation="other",code="NOT_FOUND",kind="method_not_found"}"#, 1.0),
        (r#"redress_faults_total{operation="shop.order",fault="undeclared"}"#, 1.0),
        (r#"redress_faults_total{operation="shop.order",fault="panic"}"#, 1.0),
        (r#"redress_faults_total{operation="shop.order",fault="contained"}"#, 1.0),
        (r#"redress_faults_total{operation="shop.order",fault="output"}"#, 0.0),
        (r#"redress_call_duration_seconds_count{operation="shop.order"}"#, 6.0),
        (r#"redress_call_duration_seconds_bucket{operation="shop.order",le="+Inf"}"#, 6.0),
        (r#"redress_call_duration_seconds_bucket{operation="shop.wait",le="0.025"}"#, 0.0),
        (r#"redress_calls_in_flight{operation="shop.order"}"#, 0.0),
    ] {
        assert_eq!(value(&metrics, series), expected, "{series}");
    }
    assert!(value(&metrics, r#"redress_call_duration_seconds_sum{operation="shop.wait"}"#) >= 0.05);
}

#[tokio::test]
async fn a_contained_error_is_counted_by_its_own_kind_and_by_the_code_that_its_caller_saw() {
    let (registry, metrics) = counted();
    for item in ["away", "busy", "aborted"] {
        registry.call("shop.order", Request::new(format!(r#"{{"item":"{item}"}}"#).into_bytes())).await;
    }
    for (series, expected) in [
        (r#"redress_failures_total{operation="shop.order",code="UPSTREAM_UNREACHABLE",kind="unavailable"}"#, 2.0),
        (r#"redress_failures_total{operation="shop.order",code="INTERNAL",kind="internal"}"#, 1.0),
        (r#"redress_faults_total{operation="shop.order",fault="contained"}"#, 3.0),
        (r#"redress_fault_causes_total{operation="shop.order",kind="unavailable"}"#, 1.0),
        (r#"redress_fault_causes_total{operation="shop.order",kind="rate_limited"}"#, 1.0),
        (r#"redress_fault_causes_total{operation="shop.order",kind="cancelled"}"#, 1.0),
        // An upstream's limit is none of ours.
        (r#"redress_limited_total{operation="shop.order"}"#, 0.0),
    ] {
        assert_eq!(value(&metrics, series), expected, "{series}");
    }
}

/// Turns every composed call away, and every other one that has no caller.
struct Closed;

impl Limit for Closed {
    fn admit(&self, call: &LimitedCall<'_>) -> Result<Option<Permit>, Limited> {
        match (call.composed, call.caller) {
            (true, _) => Err(Limited::rate(10)),
            (false, None) => Err(Limited::capacity(10)),
            (false, Some(_)) => Ok(None),
        }
    }
}

#[tokio::test]
async fn our_own_limits_are_counted_where_they_refused_and_as_no_upstreams_failing() {
    let (registry, metrics) = counted();
    let registry = registry.with_layers(Layers::new().limit(Closed));
    registry.call("shop.price", Request::new(b"{}")).await;
    let order = Request::new(br#"{"item":"limit"}"#).with_caller(Caller::new("ada"));
    let ended = registry.call("shop.order", order).await;
    assert_eq!(ended.code(), Some("RATE_LIMITED"));
    for (series, expected) in [
        (r#"redress_shed_total{operation="shop.price"}"#, 1.0),
        (r#"redress_limited_total{operation="shop.price"}"#, 1.0),
        (r#"redress_limited_total{operation="shop.order"}"#, 0.0),
        (r#"redress_faults_total{operation="shop.order",fault="contained"}"#, 1.0),
        (r#"redress_faults_total{operation="shop.price",fault="contained"}"#, 0.0),
    ] {
        assert_eq!(value(&metrics, series), expected, "{series}");
    }
    // The rule about upstreams counts neither.
    let rules = redress_telemetry::alerts(registry.contract());
    let upstream = rules.lines().skip_while(|line| !line.contains("RedressUpstreamFailing")).nth(1).unwrap_or_default();
    assert!(upstream.contains("rate_limited") && upstream.contains("code!~"), "{upstream}");
    for own in ["RATE_LIMITED", "QUOTA_EXHAUSTED", "OVERLOADED", "STREAM_OVERFLOW"] {
        assert!(upstream.contains(own), "{own} is left out in {upstream}");
    }
}

#[tokio::test]
async fn a_call_is_in_flight_until_it_ends_or_its_caller_leaves() {
    let (registry, metrics) = counted();
    let series = r#"redress_calls_in_flight{operation="shop.wait"}"#;
    {
        let mut call = std::pin::pin!(registry.call("shop.wait", Request::new(b"{}")));
        assert!(futures_util::poll!(&mut call).is_pending());
        assert_eq!(value(&metrics, series), 1.0);
    }
    assert_eq!(value(&metrics, series), 0.0);
    let left = r#"redress_failures_total{operation="shop.wait",code="CANCELLED",kind="cancelled"}"#;
    assert_eq!(value(&metrics, left), 1.0);
}

#[tokio::test]
async fn nothing_that_a_caller_sends_becomes_a_label() {
    let (registry, metrics) = counted();
    let lines = metrics.text().lines().count();
    for place in 0..50 {
        let request = Request::new(format!(r#"{{"item":"x{place}"}}"#).into_bytes())
            .with_caller(Caller::new(format!("caller-{place}")))
            .with_request_id(&format!("id-{place}"));
        registry.call(&format!("made.up{place}"), request).await;
    }
    let text = metrics.text();
    // One more series each for the calls and the failures of what does not exist.
    assert_eq!(text.lines().count(), lines + 2, "{text}");
    assert!(!text.contains("made.up") && !text.contains("caller-") && !text.contains("id-"));
}

#[tokio::test]
async fn counts_go_on_over_a_reload() {
    let (registry, metrics) = counted();
    registry.call("shop.price", Request::new(b"{}")).await;
    let again = service::registry().with_layers(Layers::new().observer(metrics.clone()));
    again.call("shop.price", Request::new(b"{}")).await;
    assert_eq!(value(&metrics, r#"redress_calls_total{operation="shop.price",face="process",outcome="ok"}"#), 2.0);
}

#[test]
fn other_parts_give_levels_and_counts_and_the_last_word_holds() {
    const KEPT: MetricName = MetricName::new("shop_kept_total", "Prices that were kept.");
    let metrics = Metrics::new(service::registry().contract());
    metrics.gauge(names::SOCKETS, || 1.0);
    metrics.gauge(names::SOCKETS, || 2.5);
    metrics.counter(KEPT, || 9);
    assert_eq!(value(&metrics, "redress_sockets"), 2.5);
    assert_eq!(value(&metrics, "shop_kept_total"), 9.0);
    assert!(metrics.text().contains("# HELP shop_kept_total Prices that were kept.\n# TYPE shop_kept_total counter\n"));
}

#[test]
fn the_process_tells_its_version_memory_and_time() {
    let metrics = Metrics::new(service::registry().contract());
    let version = format!("redress_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&metrics, &version), 1.0);
    assert!(value(&metrics, "process_start_time_seconds") > 1.7e9);
    if cfg!(target_os = "linux") {
        assert!(value(&metrics, "process_resident_memory_bytes") > 1e6);
        assert!(value(&metrics, "process_open_fds") > 2.0);
        assert!(value(&metrics, "process_cpu_seconds_total") >= 0.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_call_is_lost_when_many_are_counted_at_once() {
    let (registry, metrics) = counted();
    let calls = (0..8).map(|_| {
        let registry = registry.clone();
        tokio::spawn(async move {
            for _ in 0..500 {
                registry.call("shop.price", Request::new(b"{}").with_deadline(Duration::from_secs(60))).await;
            }
        })
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(value(&metrics, r#"redress_calls_total{operation="shop.price",face="process",outcome="ok"}"#), 4000.0);
    assert_eq!(value(&metrics, r#"redress_call_duration_seconds_count{operation="shop.price"}"#), 4000.0);
    assert_eq!(value(&metrics, r#"redress_calls_in_flight{operation="shop.price"}"#), 0.0);
}
