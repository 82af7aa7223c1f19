//! The trace that a call belongs to.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use redress_core::{
    Operation, Registry,
    contract::{self, Access},
};
use redress_serve::Faces;
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::service::Running;

/// Remembers every span, and for each event the spans around it.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Spans>>);

#[derive(Default)]
struct Spans {
    made: Vec<String>,
    entered: Vec<usize>,
    around_events: Vec<String>,
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Seen {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut text = Text(attributes.metadata().name().to_owned());
        attributes.record(&mut text);
        let mut spans = self.0.lock().unwrap();
        spans.made.push(text.0);
        Id::from_u64(spans.made.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().target() != "the_handler" {
            return;
        }
        let mut spans = self.0.lock().unwrap();
        let around: Vec<&str> = spans.entered.iter().map(|place| spans.made[*place].as_str()).collect();
        let around = around.join(" > ");
        spans.around_events.push(around);
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64() as usize - 1);
    }

    fn exit(&self, span: &Id) {
        let place = span.into_u64() as usize - 1;
        let mut spans = self.0.lock().unwrap();
        let at = spans.entered.iter().rposition(|entered| *entered == place).unwrap();
        spans.entered.remove(at);
    }
}

#[tokio::test]
async fn a_call_runs_inside_the_trace_of_its_caller_and_a_malformed_one_is_as_if_absent() {
    let seen = Seen::default();
    let _guard = tracing::subscriber::set_default(seen.clone());
    let told = contract::Operation::query("demo.told").with_summary("Logs.").with_access(Access::anyone());
    let told = Operation::dynamic(told).with_handler(|_, _| async {
        tracing::info!(target: "the_handler", "here");
        Ok(json!(null))
    });
    let registry = Registry::builder().add(told).build().unwrap();
    let running = Running::of(Faces::new(registry), Default::default(), Default::default()).await;
    let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    // Whether anyone listens to a span is decided where it is first made, by the thread that makes it.
    // That may be a thread of another test, where nobody listens: once all spans were made, it is asked anew here.
    running.post_with("/ops/demo/told", "{}", &[("traceparent", good)]).await;
    tracing::callsite::rebuild_interest_cache();
    seen.0.lock().unwrap().around_events.clear();
    let bad = [
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "x",
    ];
    for traceparent in [good].into_iter().chain(bad) {
        let answer = running.post_with("/ops/demo/told", "{}", &[("traceparent", traceparent)]).await;
        assert_eq!(answer.status, 200, "{traceparent}");
    }
    let spans = seen.0.lock().unwrap();
    let within = |around: &String| around.contains("redress.http");
    assert_eq!(spans.around_events.iter().map(within).collect::<Vec<_>>(), [true, false, false, false, false, false]);
    let first = &spans.around_events[0];
    assert!(
        first.contains(r#"trace_id="4bf92f3577b34da6a3ce929d0e0e4736" parent_span_id="00f067aa0ba902b7""#),
        "{first}"
    );
    assert!(first.contains("sampled=true > redress.call request_id="), "{first}");
}
