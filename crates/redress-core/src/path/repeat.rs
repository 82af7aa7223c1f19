//! Idempotency: the same key and input give the same outcome, and run the handler once.

use std::sync::Arc;

use redress_contract::{EngineCode, Output};

use super::{Asked, Bad, Call};
use crate::{Begin, IdempotencyKey, IdempotencyStore, Recorded, idempotency::fingerprint, registry::Entry};

/// What became of the key.
pub(super) enum Claimed {
    /// The handler runs, under this claim.
    Run(Claim),
    /// The outcome of the first call comes again.
    Again(Result<Output, Box<Bad>>),
}

/// A key that this call holds. Given up when dropped, so that a call that is cut off does
/// not hold its key for ever.
pub(super) struct Claim {
    store: Arc<dyn IdempotencyStore>,
    key: IdempotencyKey,
    settled: bool,
}

impl Call {
    /// The key that came with the call, on an operation that takes one.
    pub(super) fn key(&self, entry: &Entry) -> Option<&Arc<str>> {
        self.ctx.idempotency_key.as_ref().filter(|_| entry.declaration.takes_idempotency_key())
    }

    /// Claims the key, or finds what became of it before.
    pub(super) async fn claim(&self, entry: &Entry, asked: &Asked<'_>, key: &Arc<str>) -> Result<Claimed, Box<Bad>> {
        let key = IdempotencyKey {
            caller: self.ctx.caller.as_ref().map(|caller| caller.id().to_owned()).unwrap_or_default(),
            operation: entry.declaration.name().clone(),
            key: Arc::clone(key),
        };
        let store = Arc::clone(&self.ctx.registry.0.idempotency);
        // Another call with the key may still be running; `begin` waits for it.
        match store.begin(&key, fingerprint(&asked.input)).await {
            Begin::Conflict => Err(self.refuse(EngineCode::IdempotencyConflict)),
            Begin::Replay(Recorded::Output(output)) => Ok(Claimed::Again(Ok(output))),
            Begin::Replay(Recorded::Problem(problem)) => Ok(Claimed::Again(Err(Bad::new(*problem)))),
            Begin::Fresh => Ok(Claimed::Run(Claim { store, key, settled: false })),
        }
    }
}

impl Claim {
    /// Keeps an outcome that a repetition cannot change, and gives the key up otherwise.
    pub(super) fn settle(mut self, outcome: &Result<Output, Box<Bad>>) {
        let recorded = match outcome {
            Ok(output) => Some(Recorded::Output(output.clone())),
            // A declared failure that time does not heal; everything else may end better.
            Err(bad) if bad.failure.is_some() && !bad.problem.retryable => {
                Some(Recorded::Problem(Box::new(bad.problem.clone())))
            }
            Err(_) => None,
        };
        if let Some(recorded) = recorded {
            self.store.complete(&self.key, recorded);
            self.settled = true;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.settled {
            self.store.abandon(&self.key);
        }
    }
}
