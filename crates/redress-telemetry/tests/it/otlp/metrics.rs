//! Metrics as OTLP has them.

use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point::Value};
use redress_core::{Layers, Request, Secret};
use redress_telemetry::{Metrics, OtlpSettings};

use super::{
    LONG,
    collector::{Collector, text},
    sending,
};
use crate::service;

#[tokio::test]
async fn the_collector_is_told_the_same_counts_as_the_page() {
    let collector = Collector::start();
    let settings = OtlpSettings::new(collector.endpoint()).service("shop").header("x-key", Secret::new("let-me-in"));
    let (otlp, _log) = sending(settings);
    let registry = service::registry();
    let metrics = Metrics::new(registry.contract());
    otlp.export(&metrics);
    let registry = registry.with_layers(Layers::new().observer(metrics));
    for _ in 0..3 {
        registry.call("shop.price", Request::new(b"{}")).await;
    }
    assert!(otlp.shutdown(LONG).await);

    let metrics = collector.metrics();
    let data = |name: &str| {
        let metric = metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name} is not told"));
        metric.data.clone().unwrap()
    };
    let Data::Sum(calls) = data("redress_calls_total") else { panic!("calls are a sum") };
    assert!(calls.is_monotonic);
    let [point] = &calls.data_points[..] else { panic!("{calls:?}") };
    assert_eq!(text(&point.attributes, "operation"), Some("shop.price"));
    assert_eq!(point.value, Some(Value::AsInt(3)));
    assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano <= point.time_unix_nano);
    let Data::Histogram(durations) = data("redress_call_duration_seconds") else { panic!("durations are a histogram") };
    let price = durations.data_points.iter().find(|point| text(&point.attributes, "operation") == Some("shop.price"));
    let price = price.unwrap();
    assert_eq!((price.count, price.bucket_counts.iter().sum::<u64>()), (3, 3));
    assert_eq!(price.bucket_counts.len(), price.explicit_bounds.len() + 1);
    assert!(matches!(data("redress_calls_in_flight"), Data::Gauge(_)));

    let taken = collector.taken();
    assert!(taken.iter().all(|taken| taken.headers["x-key"] == "let-me-in"), "every message has the header");
    let message = taken.iter().find(|taken| taken.path == "/v1/metrics").unwrap();
    assert!(message.body.windows(4).any(|window| window == b"shop"));
}
