//! Metrics as values, between what counts and what is written.

use std::borrow::Cow;

use super::MetricName;

/// All samples of one name.
pub(crate) struct Family {
    pub(crate) name: MetricName,
    pub(crate) sort: Sort,
    pub(crate) samples: Vec<Sample>,
}

/// What sort of thing a family tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Counter,
    Gauge,
    Histogram,
}

/// One reading under its labels.
pub(crate) struct Sample {
    pub(crate) labels: Vec<(&'static str, Cow<'static, str>)>,
    pub(crate) reading: Reading,
}

/// What was read.
pub(crate) enum Reading {
    Count(u64),
    Level(f64),
    /// How many were at most each of the bounds but above the one before, and how many above all.
    Spread {
        buckets: Vec<u64>,
        sum: f64,
    },
}

impl Family {
    pub(crate) fn new(name: MetricName, sort: Sort) -> Family {
        Family { name, sort, samples: Vec::new() }
    }

    /// A family of one sample with no labels.
    pub(crate) fn single(name: MetricName, reading: Reading) -> Family {
        let sort = match reading {
            Reading::Count(_) => Sort::Counter,
            Reading::Level(_) => Sort::Gauge,
            Reading::Spread { .. } => Sort::Histogram,
        };
        Family { name, sort, samples: vec![Sample { labels: Vec::new(), reading }] }
    }

    pub(crate) fn push<const N: usize>(&mut self, labels: [(&'static str, &str); N], reading: Reading) {
        let labels = labels.into_iter().map(|(name, value)| (name, Cow::Owned(value.to_owned()))).collect();
        self.samples.push(Sample { labels, reading });
    }
}
