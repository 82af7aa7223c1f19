//! A subscription as a tool: its items within bounds, and progress on the way.

use std::time::Duration;

use futures_util::StreamExt as _;
use redress_contract::{Envelope, OperationDeclaration};
use redress_core::{Event, Registry, Request};
use tokio::time::{Instant, timeout_at};

use crate::{
    StreamBounds,
    client_channel::{Notifier, ProgressStep},
};

/// How often progress is told at most.
const BETWEEN_STEPS: Duration = Duration::from_millis(100);

/// What a stream gave.
pub(crate) enum CollectedStream {
    /// The output, as JSON.
    Output(Vec<u8>),
    /// A bad ending, and what came before it, as JSON.
    Failed(Box<Envelope>, Option<Vec<u8>>),
}

/// The longest that a stream is gathered where its deadline is beyond every clock.
const MAX_LENGTH: Duration = Duration::from_secs(24 * 60 * 60);

/// Subscribes, and gathers the items until the stream ends or a bound is met.
pub(crate) async fn collect(
    registry: &Registry,
    operation: &OperationDeclaration,
    request: Request<'_>,
    bounds: StreamBounds,
    notifier: Option<&Notifier>,
) -> CollectedStream {
    let deadline = operation.deadline().unwrap_or(registry.settings().deadline).min(bounds.time);
    // One that no clock can show is as good as the longest that any call has.
    let until = Instant::now().checked_add(deadline).unwrap_or_else(|| Instant::now() + MAX_LENGTH);
    let mut subscription = match registry.subscribe(operation.name().as_str(), request).await {
        Ok(subscription) => subscription,
        Err(envelope) => return CollectedStream::Failed(Box::new(envelope), None),
    };
    let mut items = ItemBuffer::new(notifier.filter(|notifier| notifier.wants_steps()));
    let cut = loop {
        let event = match timeout_at(until, subscription.next()).await {
            Ok(Some(event)) => event,
            // Only a runtime that shuts down lets a stream go without its end.
            Ok(None) => break Some("time"),
            Err(_) => break Some("time"),
        };
        match event {
            Event::Item(output) => {
                if items.json.len() + output.json().len() > bounds.bytes {
                    break Some("bytes");
                }
                items.push(output.json());
                if items.count >= bounds.items {
                    break Some("items");
                }
            }
            Event::Completed(_) => break None,
            Event::Failed(envelope) => {
                let before = (items.count > 0).then(|| items.close(b"}"));
                return CollectedStream::Failed(Box::new(envelope), before);
            }
        }
    };
    CollectedStream::Output(match cut {
        None => items.close(br#","complete":true}"#),
        Some(cut) => items.close(format!(r#","complete":false,"cut":"{cut}"}}"#).as_bytes()),
    })
}

/// The items so far, as the beginning of a JSON object.
struct ItemBuffer<'a> {
    json: Vec<u8>,
    count: usize,
    notifier: Option<&'a Notifier>,
    told: Option<Instant>,
}

impl<'a> ItemBuffer<'a> {
    fn new(notifier: Option<&'a Notifier>) -> ItemBuffer<'a> {
        ItemBuffer { json: br#"{"items":["#.to_vec(), count: 0, notifier, told: None }
    }

    fn push(&mut self, item: &[u8]) {
        if self.count > 0 {
            self.json.push(b',');
        }
        self.json.extend_from_slice(item);
        self.count += 1;
        let Some(notifier) = self.notifier else { return };
        let now = Instant::now();
        if self.told.is_none_or(|told| now - told >= BETWEEN_STEPS) {
            self.told = Some(now);
            let message = Some(format!("{} items", self.count));
            notifier.step(ProgressStep { progress: self.count as f64, total: None, message });
        }
    }

    fn close(mut self, end: &[u8]) -> Vec<u8> {
        self.json.push(b']');
        self.json.extend_from_slice(end);
        self.json
    }
}
