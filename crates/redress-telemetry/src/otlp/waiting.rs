//! Spans that wait to be sent: so many and no more, and those that never arrive are counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use opentelemetry::Context;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor},
};

/// How many spans wait at most, those that are being sent among them.
const MAX: usize = 2048;

/// How many spans wait, and how many were dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
}

impl Spans {
    /// How many did not arrive: no room was left for them, or the collector did not take them.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// A batch is being sent.
    pub(super) fn leave(&self, count: usize) {
        self.waiting.fetch_sub(count, Relaxed);
    }

    /// They did not arrive.
    pub(super) fn drop(&self, count: usize) {
        self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Relaxed);
    }
}

/// What gathers spans for the exporter. The one of the SDK drops what it has no room for, and tells only how often, and
/// that at its end; so there is always room in it, and what is too much is counted before.
#[derive(Debug)]
pub(super) struct Gathering {
    next: BatchSpanProcessor,
    spans: Spans,
}

impl Gathering {
    pub(super) fn new(exporter: impl SpanExporter + 'static, spans: Spans) -> Gathering {
        let config = BatchConfigBuilder::default().with_max_queue_size(MAX).build();
        Gathering { next: BatchSpanProcessor::new(exporter, config), spans }
    }
}

impl SpanProcessor for Gathering {
    fn on_start(&self, span: &mut Span, cx: &Context) {
        self.next.on_start(span, cx);
    }

    fn on_end(&self, span: SpanData) {
        if self.spans.waiting.fetch_add(1, Relaxed) < MAX {
            self.next.on_end(span);
        } else {
            self.spans.waiting.fetch_sub(1, Relaxed);
            self.spans.drop(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.next.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.next.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.next.set_resource(resource);
    }
}
