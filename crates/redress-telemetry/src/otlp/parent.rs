//! The span of the caller, as the parent of ours.
//!
//! A face that was sent a `traceparent` opens a span with the fields `trace_id`, `parent_span_id` and `sampled`, and
//! knows nothing of OpenTelemetry. The layer that makes the spans takes the current context for their parent; so, for
//! the moment in which it makes such a span, the caller's context is the current one.

use std::{cell::RefCell, fmt, str::FromStr as _};

use opentelemetry::{
    Context, ContextGuard, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, TraceContextExt as _, TraceState},
};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{Layer, layer};

/// The fields that say who called. They are in the span's identity already, so they do not leave as attributes.
pub(super) const FIELDS: [&str; 4] = ["trace_id", "parent_span_id", "sampled", "tracestate"];

thread_local! {
    static CALLER: RefCell<Option<ContextGuard>> = const { RefCell::new(None) };
}

/// Stands before the layer that makes spans.
pub(super) struct BeforeSpanLayer;

/// Stands after the layer that makes spans.
pub(super) struct AfterSpanLayer;

impl<S: Subscriber> Layer<S> for BeforeSpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: layer::Context<'_, S>) {
        if attributes.fields().field("parent_span_id").is_none() {
            return;
        }
        let mut caller = ParentFields::default();
        attributes.record(&mut caller);
        if let Some(context) = caller.context() {
            let guard = Context::current().with_remote_span_context(context).attach();
            CALLER.set(Some(guard));
        }
    }
}

impl<S: Subscriber> Layer<S> for AfterSpanLayer {
    fn on_new_span(&self, _: &Attributes<'_>, _: &Id, _: layer::Context<'_, S>) {
        CALLER.take();
    }
}

/// What the fields say.
#[derive(Default)]
struct ParentFields {
    trace: Option<TraceId>,
    span: Option<SpanId>,
    sampled: bool,
    state: TraceState,
}

impl ParentFields {
    fn context(self) -> Option<SpanContext> {
        let flags = TraceFlags::default().with_sampled(self.sampled);
        let context = SpanContext::new(self.trace?, self.span?, flags, true, self.state);
        context.is_valid().then_some(context)
    }
}

impl Visit for ParentFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "trace_id" => self.trace = TraceId::from_hex(value).ok(),
            "parent_span_id" => self.span = SpanId::from_hex(value).ok(),
            "tracestate" => self.state = TraceState::from_str(value).unwrap_or_default(),
            _ => {}
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        if field.name() == "sampled" {
            self.sampled = value;
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
