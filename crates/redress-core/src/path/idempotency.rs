//! Idempotency: the same key and input give the same outcome, and run the handler at most once.
//!
//! Why so:
//! - docs/decisions/0019-a-key-works-at-most-once.md
//! - docs/decisions/0048-a-key-where-none-is-taken.md

use std::sync::Arc;

use redress_contract::{Effect, EngineCode, OutputJson, Started};

use super::{
    Call, CallInput, CallStop, FailedCall,
    prepare::{ReadyHandler, RunningHandler},
};
use crate::{
    Begin, Exhausted, IdempotencyKey, IdempotencyStore, Recorded, Refusal, Settled,
    offload::{LARGE, offload},
    registry::RegisteredOperation,
};

/// What became of the key.
pub(super) enum Claimed<'a> {
    /// The handler runs, under this claim.
    Run(Box<Claim<'a>>),
    /// The outcome of the first call comes again.
    Again(Result<OutputJson, Box<FailedCall>>),
}

/// A key that this call holds. A call that is cut off settles it when it is dropped, as lost
/// once its handler has started.
pub(super) struct Claim<'a> {
    call: &'a Call,
    store: Arc<dyn IdempotencyStore>,
    key: IdempotencyKey,
    settled: bool,
}

impl Call {
    /// Refuses a key on an operation that takes none. This comes right after access: who may not call learns nothing
    /// of the operation, and nobody is asked to agree to a call that is refused anyway.
    pub(super) fn takes_key(&self, entry: &RegisteredOperation) -> Result<(), Box<FailedCall>> {
        if self.ctx.idempotency_key.is_none() || entry.declaration.takes_idempotency_key() {
            return Ok(());
        }
        Err(self.needless_key())
    }

    #[cold]
    pub(super) fn needless_key(&self) -> Box<FailedCall> {
        FailedCall::new(Refusal::needless_key().into_problem())
    }

    /// Claims the key, or finds what became of it before. A call whose quota is used up claims none: it would write twice
    /// for nothing, however often it is made.
    pub(super) async fn claim(
        &self,
        entry: &RegisteredOperation,
        call_input: &CallInput<'_>,
        key: &Arc<str>,
        exhausted: Option<&Exhausted>,
    ) -> Result<Claimed<'_>, Box<FailedCall>> {
        let key = IdempotencyKey {
            caller: self.ctx.key_holder(),
            operation: entry.declaration.name().clone(),
            key: Arc::clone(key),
        };
        let store = Arc::clone(&self.ctx.registry.0.idempotency);
        // Another call with the key may still be running; `begin` waits for it.
        let input = self.key_fingerprint(call_input).await;
        let begun = match exhausted {
            Some(exhausted) => match store.peek(&key, input).await {
                Ok(Begin::Fresh) => return Err(self.exhausted(exhausted)),
                known => known,
            },
            None => store.begin(&key, input).await,
        };
        match begun {
            Ok(Begin::Fresh) => Ok(Claimed::Run(Box::new(Claim { call: self, store, key, settled: false }))),
            Ok(Begin::Replay(recorded)) => {
                self.note_repeated();
                let is_large = matches!(&*recorded, Recorded::Output(output) if output.json().len() > LARGE);
                let own = move || Arc::unwrap_or_clone(recorded);
                Ok(Claimed::Again(match if is_large { offload(own).await } else { own() } {
                    Recorded::Output(output) => Ok(output),
                    Recorded::Problem(problem) => Err(FailedCall::new(*problem)),
                }))
            }
            Ok(Begin::Conflict) => Err(self.refuse(EngineCode::IdempotencyConflict)),
            Ok(Begin::Unknown) => {
                let mut bad = self.refuse(EngineCode::OutcomeUnknown);
                // This call did nothing, but what its key stands for may have been done.
                bad.problem.effect = Effect::Unknown;
                Err(bad)
            }
            Err(error) => {
                tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), cause = %self.logged(&*error.0), "an idempotency key cannot be kept, and the call is refused");
                Err(Call::cannot_keep())
            }
        }
    }
}

impl Call {
    /// The outcome of the first call with the key, once more. What is kept is not for somebody who may not have it any more.
    pub(super) async fn again(
        &self,
        ready: ReadyHandler<RunningHandler<'_, OutputJson>>,
        kept: Result<OutputJson, Box<FailedCall>>,
    ) -> Result<OutputJson, CallStop> {
        match (ready, kept) {
            (ReadyHandler::Fails(failed), _) => Err(failed.into()),
            (ReadyHandler::Runs(_), Ok(output)) => self.within(async { Ok(self.ctx.charged(output).await) }).await,
            (ReadyHandler::Runs(_), Err(bad)) => Err(bad.into()),
        }
    }
}

impl Claim<'_> {
    /// Says what became of the call, and waits until that is kept. A large output is copied off the workers.
    pub(super) async fn settle(
        mut self: Box<Self>,
        outcome: Result<OutputJson, CallStop>,
    ) -> Result<OutputJson, CallStop> {
        let (settled, outcome) = match outcome {
            Ok(output) if output.json().len() > LARGE => {
                let (kept, output) = offload(move || (output.clone(), output)).await;
                (Settled::Outcome(Recorded::Output(kept)), Ok(output))
            }
            outcome => (self.settled_by(&outcome), outcome),
        };
        self.settled = true;
        if let Err(error) = self.store.settle(&self.key, settled).await {
            // The caller has its outcome all the same; a repetition will learn that nobody knows it.
            tracing::error!(request_id = %self.call.ctx.request_id, operation = self.call.operation(), cause = %self.call.logged(&*error.0), "the outcome of a call with an idempotency key cannot be kept");
        }
        outcome
    }

    fn settled_by(&self, outcome: &Result<OutputJson, CallStop>) -> Settled {
        let bad = match outcome {
            Ok(output) => return Settled::Outcome(Recorded::Output(output.clone())),
            Err(CallStop::Suspended) => return Settled::Free,
            Err(CallStop::Failed(bad)) => bad,
        };
        let kept = || Settled::Outcome(Recorded::Problem(Box::new(bad.problem.clone())));
        match bad.failure {
            // What was done is done, and how the call ended is known.
            _ if bad.problem.code.as_str() == EngineCode::ResultTooLarge.as_str() => kept(),
            Some(_) if !bad.problem.retryable => kept(),
            // Only the declaration can promise that nothing was changed.
            Some(_) if bad.problem.effect == Effect::None => Settled::Free,
            // So can a handler that has found out that another service did nothing, or was sent nothing.
            None if bad.nothing_done => Settled::Free,
            Some(_) | None => self.cut_off(),
        }
    }

    /// What becomes of the key of a call that comes to no outcome.
    fn cut_off(&self) -> Settled {
        match self.call.started() {
            Started::No => Settled::Free,
            Started::Yes | Started::WithKey => Settled::Lost,
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.settled {
            // Nobody is left to wait for it; the store has taken it when this returns.
            drop(self.store.settle(&self.key, self.cut_off()));
        }
    }
}
