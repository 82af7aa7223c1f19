//! Traces, metrics and logs to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! Everything is sent by threads of its own, from queues that are bounded: a collector that is slow or gone costs
//! a call nothing, and what does not fit is dropped. A trace begins where a caller brings none; the spans of
//! calls, of the calls that they make and of what handlers open themselves are its spans.

mod client;
mod logs;
mod metrics;
mod parent;
mod private;
mod settings;
mod spans;
mod waiting;

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use opentelemetry::{
    Context, KeyValue,
    logs::LoggerProvider as _,
    trace::{TraceContextExt as _, TracerProvider as _},
};
use opentelemetry_otlp::{LogExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    logs::SdkLoggerProvider,
    trace::{Sampler, SdkTracerProvider},
};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

pub use settings::OtlpSettings;

use crate::{LogTargets, Metrics, names};
use client::{OtlpClient, Thread};
use waiting::{Gathering, Spans};

/// Says whether the metrics were taken.
type SendsMetrics = Pin<Box<dyn Future<Output = bool> + Send>>;

/// What the spans and logs say they come from.
const SCOPE: &str = "redress";

/// Why nothing can be sent to a collector.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// The endpoint is no address of a collector.
    #[error("the endpoint is not an http or https URL")]
    Endpoint,
    /// The ratio is not between 0 and 1.
    #[error("the ratio of sampled traces is not between 0 and 1")]
    Sample,
    /// A header cannot be sent.
    #[error("the header `{name}` cannot be sent")]
    Header {
        /// Its name.
        name: String,
    },
    /// The HTTP client could not be made.
    #[error("the HTTP client cannot be made")]
    Client(#[source] reqwest::Error),
    /// An exporter could not be made.
    #[error("an exporter cannot be made")]
    Exporter(#[source] opentelemetry_otlp::ExporterBuildError),
    /// The thread that sends could not be started.
    #[error("the thread that sends cannot be started")]
    Thread(#[from] std::io::Error),
}

/// What sends traces, metrics and logs to a collector, in the background.
///
/// ```no_run
/// use redress_telemetry::{Metrics, Otlp, OtlpSettings};
/// use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};
///
/// # async fn run(registry: redress_core::Registry) -> Result<(), redress_telemetry::OtlpError> {
/// let otlp = Otlp::start(OtlpSettings::new("http://127.0.0.1:4318").service("shop").sample(0.1))?;
/// tracing_subscriber::registry().with(otlp.layer()).with(tracing_subscriber::fmt::layer()).init();
/// otlp.export(&Metrics::new(registry.contract()));
/// // … serve …
/// otlp.shutdown(std::time::Duration::from_secs(5)).await;
/// # Ok(())
/// # }
/// ```
pub struct Otlp {
    tracers: SdkTracerProvider,
    loggers: SdkLoggerProvider,
    client: OtlpClient,
    resource: metrics::MetricResource,
    metrics: Arc<Mutex<Option<Arc<Metrics>>>>,
    own: LogTargets,
    thread: Thread,
    /// The spans that wait to be sent.
    waiting: Spans,
}

impl Otlp {
    /// Starts the threads that send. Nothing is sent yet, and the collector need not be there.
    pub fn start(settings: OtlpSettings) -> Result<Otlp, OtlpError> {
        if !(0.0..=1.0).contains(&settings.sample) {
            return Err(OtlpError::Sample);
        }
        let thread = Thread::start()?;
        let client = OtlpClient::new(&settings, &thread)?;
        let attributes = [("service.name", &settings.service), ("service.version", &settings.version)];
        let resource = Resource::builder_empty()
            .with_attributes(attributes.map(|(name, value)| KeyValue::new(name, value.clone())))
            .build();
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_endpoint(client.address("/v1/traces"))
            .with_timeout(settings.timeout)
            .build()
            .map_err(OtlpError::Exporter)?;
        let logs = LogExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_endpoint(client.address("/v1/logs"))
            .with_timeout(settings.timeout)
            .build()
            .map_err(OtlpError::Exporter)?;
        let waiting = Spans::default();
        let tracers = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sample))))
            .with_resource(resource.clone())
            .with_span_processor(Gathering::new(spans::RedactingExporter(spans, waiting.clone()), waiting.clone()))
            .build();
        let loggers = SdkLoggerProvider::builder().with_resource(resource).with_batch_exporter(logs).build();
        let whose = metrics::MetricResource::new(attributes.map(|(name, value)| (name, value.as_str())));
        let mut own = settings.own;
        own.add(&settings.service);
        let otlp = Otlp { tracers, loggers, client, resource: whose, metrics: Arc::default(), own, thread, waiting };
        otlp.send_metrics_every(settings.interval);
        Ok(otlp)
    }

    /// The layer that hands spans and events to the exporters: those of the level `INFO` and above, and of libraries
    /// that a warning or an error happened, without its text and its fields.
    ///
    /// What leaves holds no input, no cause and no text of a panic. Fields of the names in the page about telemetry,
    /// and every field that is an error, stay behind; the message of an event is as its author wrote it.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + 'static
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.tracers.tracer(SCOPE))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_error_fields_to_exceptions(false)
            .with_error_records_to_exceptions(false);
        // Events leave as logs, which name the span that they belong to, and not a second time inside of it.
        let spans = parent::BeforeSpanLayer
            .and_then(spans)
            .and_then(parent::AfterSpanLayer)
            .with_filter(filter_fn(leaves(&self.own, |metadata| metadata.is_span())));
        let logs = logs::Logs::new(self.loggers.logger(SCOPE), self.own.clone())
            .with_filter(filter_fn(leaves(&self.own, |metadata| metadata.is_event())));
        spans.and_then(logs)
    }

    /// Sends these metrics too, from now on and in place of any given before. They count what the collector
    /// did not take.
    pub fn export(&self, metrics: &Arc<Metrics>) {
        let client = self.client.clone();
        metrics.counter(names::OTLP_FAILED, move || client.failed());
        let waiting = self.waiting.clone();
        metrics.counter(names::OTLP_SPANS_DROPPED, move || waiting.dropped());
        *self.metrics.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(metrics));
    }

    /// Sends what is left, and stops. Says whether all of it was taken within the time.
    pub async fn shutdown(self, within: Duration) -> bool {
        let (tracers, loggers) = (self.tracers.clone(), self.loggers.clone());
        // The providers wait with their whole thread.
        let traces = tokio::task::spawn_blocking(move || tracers.shutdown_with_timeout(within).is_ok());
        let logs = tokio::task::spawn_blocking(move || loggers.shutdown_with_timeout(within).is_ok());
        let metrics = self.thread.handle().spawn(self.send_metrics()());
        let all = async {
            let sent = (traces.await, logs.await, metrics.await);
            matches!(sent, (Ok(true), Ok(true), Ok(true)))
        };
        tokio::time::timeout(within, all).await.unwrap_or(false)
    }

    /// What sends the metrics, if there are any.
    fn send_metrics(&self) -> impl Fn() -> SendsMetrics + Send + 'static {
        let (client, whose, given) = (self.client.clone(), self.resource.clone(), Arc::clone(&self.metrics));
        move || {
            let metrics = given.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (client, whose) = (client.clone(), whose.clone());
            Box::pin(async move {
                match metrics {
                    Some(metrics) => client.post("/v1/metrics", whose.message(&metrics)).await,
                    None => true,
                }
            })
        }
    }

    fn send_metrics_every(&self, interval: Duration) {
        let send = self.send_metrics();
        self.thread.handle().spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                send().await;
            }
        });
    }
}

/// What of a sort is told at all.
fn leaves(
    own: &LogTargets,
    sort: fn(&Metadata<'_>) -> bool,
) -> impl Fn(&Metadata<'_>) -> bool + Send + Sync + 'static + use<> {
    let own = own.clone();
    move |metadata| {
        let min = if own.has(metadata.target()) { Level::INFO } else { Level::WARN };
        sort(metadata) && *metadata.level() <= min
    }
}

impl std::fmt::Debug for Otlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Otlp").field("client", &self.client).finish_non_exhaustive()
    }
}

/// The headers by which a call to another service joins the trace of the running call: `traceparent`, and
/// `tracestate` where the caller sent one. Empty where no trace is running.
///
/// ```
/// # fn call(client: &reqwest::Client) -> reqwest::RequestBuilder {
/// let mut request = client.get("http://127.0.0.1:8080/stock");
/// for (name, value) in redress_telemetry::trace_headers() {
///     request = request.header(name, value);
/// }
/// # request
/// # }
/// ```
pub fn trace_headers() -> Vec<(&'static str, String)> {
    Context::map_current(|context| {
        let span = context.span();
        let within = span.span_context();
        if !within.is_valid() {
            return Vec::new();
        }
        let (trace, parent, flags) = (within.trace_id(), within.span_id(), within.trace_flags().to_u8());
        let mut headers = vec![("traceparent", format!("00-{trace}-{parent}-{flags:02x}"))];
        let state = within.trace_state().header();
        if !state.is_empty() {
            headers.push(("tracestate", state));
        }
        headers
    })
}

/// The trace of the running call.
pub(crate) fn trace_id() -> Option<String> {
    Context::map_current(|context| {
        let span = context.span();
        let within = span.span_context();
        within.is_valid().then(|| within.trace_id().to_string())
    })
}
