//! The metrics, as a message of OTLP.
//!
//! The SDK of OpenTelemetry counts by itself and takes no counts from elsewhere. Ours are counted already, so the
//! message is made of them: nothing is counted twice, and `/metrics` and the collector say the same.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
        ScopeMetrics, Sum, metric::Data, number_data_point,
    },
    resource::v1::Resource,
};
use prost::Message as _;

use super::SCOPE;
use crate::{
    Metrics,
    metrics::{BOUNDS, Family, MetricKind, MetricSample, SampleValue},
};

/// Whose metrics they are.
#[derive(Clone)]
pub(super) struct MetricResource(Vec<KeyValue>);

impl MetricResource {
    pub(super) fn new<const N: usize>(attributes: [(&str, &str); N]) -> MetricResource {
        MetricResource(attributes.map(|(name, value)| attribute(name, value)).into())
    }

    /// All metrics at this moment, counted from the beginning.
    pub(super) fn message(&self, metrics: &Metrics) -> Vec<u8> {
        let times = ExportInterval { since: nanoseconds(metrics.started()), now: nanoseconds(SystemTime::now()) };
        let metrics = metrics.families().into_iter().map(|family| times.metric(family)).collect();
        let scope = InstrumentationScope {
            name: SCOPE.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let resource = Resource { attributes: self.0.clone(), ..Resource::default() };
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }];
        let resource_metrics =
            vec![ResourceMetrics { resource: Some(resource), scope_metrics, ..ResourceMetrics::default() }];
        ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
    }
}

/// From when to when was counted.
#[derive(Clone, Copy)]
struct ExportInterval {
    since: u64,
    now: u64,
}

impl ExportInterval {
    fn metric(self, Family { name, sort, samples }: Family) -> Metric {
        let aggregation_temporality = AggregationTemporality::Cumulative.into();
        let data = match sort {
            MetricKind::Gauge => Data::Gauge(Gauge { data_points: self.numbers(samples) }),
            MetricKind::Counter => {
                Data::Sum(Sum { data_points: self.numbers(samples), aggregation_temporality, is_monotonic: true })
            }
            MetricKind::Histogram => Data::Histogram(Histogram {
                data_points: samples.into_iter().filter_map(|sample| self.spread(sample)).collect(),
                aggregation_temporality,
            }),
        };
        let unit = if name.name().ends_with("_seconds") { "s" } else { "" };
        Metric {
            name: name.name().to_owned(),
            description: name.help().to_owned(),
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        }
    }

    fn numbers(self, samples: Vec<MetricSample>) -> Vec<NumberDataPoint> {
        let number = |MetricSample { labels, reading }| {
            let value = match reading {
                SampleValue::Count(count) => number_data_point::Value::AsInt(i64::try_from(count).unwrap_or(i64::MAX)),
                SampleValue::Level(level) => number_data_point::Value::AsDouble(level),
                SampleValue::Spread { .. } => return None,
            };
            Some(NumberDataPoint {
                attributes: attributes(labels),
                start_time_unix_nano: self.since,
                time_unix_nano: self.now,
                value: Some(value),
                ..NumberDataPoint::default()
            })
        };
        samples.into_iter().filter_map(number).collect()
    }

    fn spread(self, MetricSample { labels, reading }: MetricSample) -> Option<HistogramDataPoint> {
        let SampleValue::Spread { buckets, sum } = reading else { return None };
        Some(HistogramDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: self.since,
            time_unix_nano: self.now,
            count: buckets.iter().sum(),
            sum: Some(sum),
            bucket_counts: buckets,
            explicit_bounds: BOUNDS.iter().map(|bound| Duration::from_micros(*bound).as_secs_f64()).collect(),
            ..HistogramDataPoint::default()
        })
    }
}

fn attributes(labels: Vec<(&'static str, Cow<'static, str>)>) -> Vec<KeyValue> {
    labels.into_iter().map(|(name, value)| attribute(name, &value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn nanoseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
