//! The call itself, without any face.

use futures_util::StreamExt as _;
use redress_core::{Event, Request};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::table::{
    face::{Asking, Face},
    outcome::Outcome,
    rows::{Ask, Row},
    site::{Site, caller},
};

pub(crate) struct InProcess;

impl Face for InProcess {
    fn name(&self) -> &'static str {
        "in process"
    }

    fn carries(&self, _: &Row) -> bool {
        true
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(self.make(site, row, site.over.clone()))
    }

    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move {
            let token = CancellationToken::new();
            let (outcome, ()) = tokio::join!(self.make(site, row, token.clone()), async {
                site.marks.begun().await;
                token.cancel();
            });
            Some(outcome)
        })
    }
}

impl InProcess {
    async fn make(&self, site: &Site, row: &Row, cancelled: CancellationToken) -> Outcome {
        let read = |bytes: Vec<u8>| -> Value {
            site.check(self.name(), &bytes);
            serde_json::from_slice(&bytes).unwrap()
        };
        let mut request = Request::new(row.input.as_bytes()).with_cancellation(cancelled);
        if let Some(caller) = caller(row.who) {
            request = request.with_caller(caller);
        }
        if let Some(ms) = row.deadline_ms {
            request = request.with_deadline(std::time::Duration::from_millis(ms));
        }
        if let Some(key) = row.key {
            request = request.with_idempotency_key(key);
        }
        match row.ask {
            Ask::Call | Ask::CallOfStream => {
                Outcome::envelope(read(site.registry.call(row.operation, request).await.into_bytes()))
            }
            Ask::Stream | Ask::StreamOfCall => {
                let mut events = match site.registry.subscribe(row.operation, request).await {
                    Ok(events) => events,
                    Err(refused) => return Outcome::envelope(read(refused.into_bytes())),
                };
                let mut items = Vec::new();
                loop {
                    match events.next().await.expect("a stream has an end") {
                        Event::Item(output) => items.push(read(output.json().to_vec())),
                        Event::Completed(meta) => {
                            let end = json!({"ok": true, "_meta": meta}).to_string();
                            return Outcome::envelope(read(end.into_bytes())).after(items);
                        }
                        Event::Failed(envelope) => {
                            return Outcome::envelope(read(envelope.into_bytes())).after(items);
                        }
                    }
                }
            }
        }
    }
}
