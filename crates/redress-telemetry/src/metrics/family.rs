//! Metrics as values, between what counts and what is written.

use std::borrow::Cow;

use super::MetricName;

/// All samples of one name.
pub(crate) struct Family {
    pub(crate) name: MetricName,
    pub(crate) sort: MetricKind,
    pub(crate) samples: Vec<MetricSample>,
}

/// What sort of thing a family tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// One reading under its labels.
pub(crate) struct MetricSample {
    pub(crate) labels: Vec<(&'static str, Cow<'static, str>)>,
    pub(crate) reading: SampleValue,
}

/// What was read.
pub(crate) enum SampleValue {
    Count(u64),
    Level(f64),
    /// How many were at most each of the bounds but above the one before, and how many above all.
    Spread {
        buckets: Vec<u64>,
        sum: f64,
    },
}

impl Family {
    pub(crate) fn new(name: MetricName, sort: MetricKind) -> Family {
        Family { name, sort, samples: Vec::new() }
    }

    /// A family of one sample with no labels.
    pub(crate) fn single(name: MetricName, reading: SampleValue) -> Family {
        let sort = match reading {
            SampleValue::Count(_) => MetricKind::Counter,
            SampleValue::Level(_) => MetricKind::Gauge,
            SampleValue::Spread { .. } => MetricKind::Histogram,
        };
        Family { name, sort, samples: vec![MetricSample { labels: Vec::new(), reading }] }
    }

    pub(crate) fn push<const N: usize>(&mut self, labels: [(&'static str, &str); N], reading: SampleValue) {
        let labels = labels.into_iter().map(|(name, value)| (name, Cow::Owned(value.to_owned()))).collect();
        self.samples.push(MetricSample { labels, reading });
    }
}
