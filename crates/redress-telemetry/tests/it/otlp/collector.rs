//! A collector: it takes messages of OTLP over HTTP, and remembers them.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode, Uri},
};
use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::ExportLogsServiceRequest, metrics::v1::ExportMetricsServiceRequest,
        trace::v1::ExportTraceServiceRequest,
    },
    common::v1::{KeyValue, any_value::Value},
    logs::v1::LogRecord,
    metrics::v1::Metric,
    trace::v1::Span,
};
use prost::Message;

/// One message, as it came.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A collector on a thread of its own, which answers every message with `status`, and those to one path with 404 where
/// it is told to.
pub(super) struct Collector {
    address: SocketAddr,
    taken: Arc<Mutex<Vec<Taken>>>,
    status: Arc<Mutex<StatusCode>>,
    lacks: Arc<Mutex<Option<&'static str>>>,
}

impl Collector {
    pub(super) fn start() -> Collector {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
        let address = listener.local_addr().expect("a port of loopback");
        let (taken, status) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(StatusCode::OK)));
        let lacks = Arc::new(Mutex::new(None));
        let (inbox, answer, without) = (Arc::clone(&taken), Arc::clone(&status), Arc::clone(&lacks));
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a port of loopback");
            runtime.block_on(async move {
                listener.set_nonblocking(true).expect("a port of loopback");
                let listener = tokio::net::TcpListener::from_std(listener).expect("a port of loopback");
                let take = async move |uri: Uri, headers: HeaderMap, body: Bytes| {
                    inbox.lock().expect("nobody panics with it").push(Taken {
                        path: uri.path().to_owned(),
                        headers,
                        body,
                    });
                    if *without.lock().expect("nobody panics with it") == Some(uri.path()) {
                        return StatusCode::NOT_FOUND;
                    }
                    *answer.lock().expect("nobody panics with it")
                };
                axum::serve(listener, Router::new().fallback(take)).await.expect("a port of loopback");
            });
        });
        Collector { address, taken, status, lacks }
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn answers(&self, status: StatusCode) {
        *self.status.lock().expect("nobody panics with it") = status;
    }

    pub(super) fn lacks(&self, path: &'static str) {
        *self.lacks.lock().expect("nobody panics with it") = Some(path);
    }

    pub(super) fn taken(&self) -> Vec<Taken> {
        self.taken.lock().expect("nobody panics with it").clone()
    }

    fn messages<M: Message + Default>(&self, path: &str) -> Vec<M> {
        let taken = self.taken();
        taken
            .iter()
            .filter(|taken| taken.path == path)
            .map(|taken| M::decode(taken.body.clone()).expect("a message of OTLP"))
            .collect()
    }

    pub(super) fn spans(&self) -> Vec<Span> {
        let messages = self.messages::<ExportTraceServiceRequest>("/v1/traces");
        let scopes =
            messages.into_iter().flat_map(|message| message.resource_spans).flat_map(|spans| spans.scope_spans);
        scopes.flat_map(|spans| spans.spans).collect()
    }

    /// The span of this name.
    #[track_caller]
    pub(super) fn span(&self, name: &str) -> Span {
        let spans = self.spans();
        let found = spans.iter().find(|span| span.name == name).cloned();
        found
            .unwrap_or_else(|| panic!("{name} is not in {:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>()))
    }

    pub(super) fn logs(&self) -> Vec<LogRecord> {
        let messages = self.messages::<ExportLogsServiceRequest>("/v1/logs");
        let scopes = messages.into_iter().flat_map(|message| message.resource_logs).flat_map(|logs| logs.scope_logs);
        scopes.flat_map(|logs| logs.log_records).collect()
    }

    /// The metrics of the last message.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let messages = self.messages::<ExportMetricsServiceRequest>("/v1/metrics");
        let last = messages.into_iter().next_back().expect("metrics were sent").resource_metrics;
        last.into_iter().flat_map(|metrics| metrics.scope_metrics).flat_map(|metrics| metrics.metrics).collect()
    }
}

/// The text of an attribute.
pub(super) fn text<'a>(attributes: &'a [KeyValue], name: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    let Value::StringValue(text) = found.value.as_ref()?.value.as_ref()? else { panic!("{found:?} is no text") };
    Some(text)
}

/// Bytes as they are written in a header.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
