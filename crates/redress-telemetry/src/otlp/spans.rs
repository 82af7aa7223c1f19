//! What a collector is told of a span.

use std::{borrow::Cow, time::Duration};

use opentelemetry::{
    KeyValue, SpanId,
    trace::{SpanKind, Status},
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use redress_contract::Kind;

use super::{parent, private, waiting::Spans};

/// The span of a call, as the call path names it.
const CALL: &str = "redress.call";
/// The longest attribute that leaves.
const MAX_LENGTH: usize = 1024;

/// An exporter that is told less than there is, and in the words of OpenTelemetry. This is done on the thread that
/// sends, when the call is long over.
#[derive(Debug)]
pub(super) struct RedactingExporter<E>(pub(super) E, pub(super) Spans);

impl<E: SpanExporter> SpanExporter for RedactingExporter<E> {
    fn export(&self, mut batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        let count = batch.len();
        batch.iter_mut().for_each(tell);
        async move {
            let sent = self.0.export(batch).await;
            self.1.leave(count);
            if sent.is_err() {
                self.1.drop(count);
            }
            sent
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn tell(span: &mut SpanData) {
    // A field that is an error is followed by the chain of its causes, whatever the field is called.
    let errors: Vec<String> = span
        .attributes
        .iter()
        .filter_map(|attribute| attribute.key.as_str().strip_suffix(".chain").map(str::to_owned))
        .collect();
    span.attributes.retain(|KeyValue { key, .. }| {
        let name = key.as_str();
        let caller = parent::FIELDS.contains(&name);
        !caller && !private::stays(name) && !name.ends_with(".chain") && !errors.iter().any(|error| error == name)
    });
    for attribute in &mut span.attributes {
        if let opentelemetry::Value::String(text) = &attribute.value
            && text.as_str().len() > MAX_LENGTH
        {
            attribute.value = shortened(text.as_str()).to_owned().into();
        }
    }
    // The links and events of spans come from code that knows OpenTelemetry; events leave as logs.
    span.events = opentelemetry_sdk::trace::SpanEvents::default();
    let from_outside = span.parent_span_id == SpanId::INVALID || span.parent_span_is_remote;
    if from_outside && span.name.starts_with("redress.") {
        span.span_kind = SpanKind::Server;
    }
    if span.name == CALL {
        tell_call(span);
    }
}

/// A call is known by its operation, and is an error where the service is to blame.
fn tell_call(span: &mut SpanData) {
    let text = |name: &str| {
        let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.as_str().into_owned())
    };
    if text("kind").and_then(|kind| Kind::parse(&kind)).is_some_and(|kind| kind.http() >= 500)
        && let Some(code) = text("code")
    {
        span.status = Status::error(code);
    }
    if let Some(operation) = text("operation") {
        span.name = Cow::Owned(operation);
    }
}

/// As much of a text as may leave.
pub(super) fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_LENGTH)).unwrap_or_default()
}
