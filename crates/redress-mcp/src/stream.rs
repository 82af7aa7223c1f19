//! A subscription as a tool: its items within bounds, and progress on the way.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use redress_contract::{Envelope, Operation};
use redress_core::{self as core, Event, Listener, Note, Registry, Request};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use crate::StreamBounds;

/// Where the progress of one request goes. What nobody takes in time is dropped: progress never
/// holds a result back.
pub(crate) type Progress = mpsc::Sender<Step>;

/// How far a request has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Hands on how far a handler says that it has come. Steps that lead nowhere or back are not
/// told: clients take them for a mistake.
pub(crate) struct Told {
    to: Progress,
    last: Mutex<f64>,
}

impl Told {
    pub(crate) fn to(progress: &Progress) -> Told {
        Told { to: progress.clone(), last: Mutex::new(f64::NEG_INFINITY) }
    }
}

impl Listener for Told {
    fn progress(&self, progress: core::Progress) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.done.is_finite() && progress.done > *last {
            *last = progress.done;
            let total = progress.total.filter(|total| total.is_finite());
            let _ = self.to.try_send(Step { progress: progress.done, total, message: progress.message });
        }
    }

    fn note(&self, _: Note) {}

    fn wants(&self, _: core::Level) -> bool {
        false
    }
}

/// How often progress is told at most.
const BETWEEN_STEPS: Duration = Duration::from_millis(100);

/// What a stream gave.
pub(crate) enum Collected {
    /// The output, as JSON.
    Output(Vec<u8>),
    /// A bad ending, and what came before it, as JSON.
    Failed(Box<Envelope>, Option<Vec<u8>>),
}

/// Subscribes, and gathers the items until the stream ends or a bound is met.
pub(crate) async fn collect(
    registry: &Registry,
    operation: &Operation,
    request: Request<'_>,
    bounds: StreamBounds,
    progress: Option<&Progress>,
) -> Collected {
    let until = Instant::now() + operation.deadline().unwrap_or(registry.settings().deadline);
    let mut subscription = match registry.subscribe(operation.name().as_str(), request).await {
        Ok(subscription) => subscription,
        Err(envelope) => return Collected::Failed(Box::new(envelope), None),
    };
    let mut items = Items::new(progress);
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
                return Collected::Failed(Box::new(envelope), before);
            }
        }
    };
    Collected::Output(match cut {
        None => items.close(br#","complete":true}"#),
        Some(cut) => items.close(format!(r#","complete":false,"cut":"{cut}"}}"#).as_bytes()),
    })
}

/// The items so far, as the beginning of a JSON object.
struct Items<'a> {
    json: Vec<u8>,
    count: usize,
    progress: Option<&'a Progress>,
    told: Option<Instant>,
}

impl<'a> Items<'a> {
    fn new(progress: Option<&'a Progress>) -> Items<'a> {
        Items { json: br#"{"items":["#.to_vec(), count: 0, progress, told: None }
    }

    fn push(&mut self, item: &[u8]) {
        if self.count > 0 {
            self.json.push(b',');
        }
        self.json.extend_from_slice(item);
        self.count += 1;
        let Some(progress) = self.progress else { return };
        let now = Instant::now();
        if self.told.is_none_or(|told| now - told >= BETWEEN_STEPS) {
            self.told = Some(now);
            let message = Some(format!("{} items", self.count));
            let _ = progress.try_send(Step { progress: self.count as f64, total: None, message });
        }
    }

    fn close(mut self, end: &[u8]) -> Vec<u8> {
        self.json.push(b']');
        self.json.extend_from_slice(end);
        self.json
    }
}
