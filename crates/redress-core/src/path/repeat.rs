//! Idempotency: the same key and input give the same outcome, and run the handler once.

use std::sync::Arc;

use redress_contract::{EngineCode, Output};

use super::{Asked, Bad, Call};
use crate::{Begin, IdempotencyKey, IdempotencyStore, Recorded, idempotency::fingerprint, registry::Entry};

/// What became of the key.
pub(super) enum Claimed {
    /// The handler runs, under this claim if there is a key.
    Run(Option<Claim>),
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
    pub(super) async fn claim(&self, entry: &Entry, asked: &Asked<'_>) -> Result<Claimed, Box<Bad>> {
        let Some(key) = self.ctx.idempotency_key.as_ref().filter(|_| entry.declaration.takes_idempotency_key()) else {
            return Ok(Claimed::Run(None));
        };
        let key = IdempotencyKey {
            caller: self.ctx.caller.as_ref().map(|caller| caller.id().to_owned()).unwrap_or_default(),
            operation: entry.declaration.name().clone(),
            key: Arc::clone(key),
        };
        let store = Arc::clone(&self.ctx.registry.0.idempotency);
        // Another call with the key may still be running; waiting for it counts as waiting.
        let begun = tokio::select! {
            biased;
            () = self.called_off() => return Err(self.refuse(EngineCode::Cancelled)),
            begun = tokio::time::timeout_at(self.deadline(entry), store.begin(&key, fingerprint(&asked.input))) => begun,
        };
        match begun {
            Err(_) => Err(self.refuse(EngineCode::Timeout)),
            Ok(Begin::Conflict) => Err(self.refuse(EngineCode::IdempotencyConflict)),
            Ok(Begin::Replay(Recorded::Output(output))) => Ok(Claimed::Again(Ok(output))),
            Ok(Begin::Replay(Recorded::Problem(problem))) => Ok(Claimed::Again(Err(Bad::new(*problem)))),
            Ok(Begin::Fresh) => Ok(Claimed::Run(Some(Claim { store, key, settled: false }))),
        }
    }

    /// Resolves when whoever asked calls the call off.
    async fn called_off(&self) {
        match &self.ctx.above {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
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
