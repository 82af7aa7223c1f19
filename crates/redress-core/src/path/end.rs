//! Envelope and observers: the one place where a call ends, whichever way it took.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use redress_contract::{EngineCode, Envelope, Kind, Meta, OutputJson, Problem};

use super::{Call, CallStop};
use crate::{
    AnyFailure, EndedCall, Fault,
    contained::{contain, let_go},
    registry::RegisteredOperation,
};

/// How a call ended, as far as those who watch are told.
#[derive(Clone, Copy, Default)]
struct CallEnd<'a> {
    problem: Option<&'a Problem>,
    fault: Option<Fault>,
    cause: Option<Kind>,
    asks: bool,
}

impl Call {
    /// Ends the call: envelope, log and observers, once.
    pub(crate) fn end(&mut self, outcome: Result<OutputJson, CallStop>) -> (Envelope, Option<Arc<dyn AnyFailure>>) {
        self.ended = true;
        let elapsed = self.since.elapsed();
        let meta = self.meta(elapsed);
        let (envelope, failure, fault, cause) = match outcome {
            Ok(output) => {
                let fault = output.breach().map(|_| Fault::Output);
                (Envelope::success(output, meta), None, fault, None)
            }
            Err(stop) => {
                let mut bad = match stop {
                    CallStop::Failed(bad) => bad,
                    // Only a call in rounds is suspended, and that does not end here.
                    CallStop::Suspended => self.refuse(EngineCode::Cancelled),
                };
                self.keep_callable(&mut bad);
                (Envelope::failure(bad.problem, bad.printed.as_deref(), meta), bad.failure, bad.fault, bad.cause)
            }
        };
        let envelope = match self.allowances.take() {
            Some(allowances) => envelope.with_allowances(allowances),
            None => envelope,
        };
        self.tell(CallEnd { problem: envelope.problem(), fault, cause, asks: false }, elapsed);
        (envelope, failure)
    }

    /// Ends a call from outside, where nobody can match the failure by its type.
    pub(super) fn end_outside(&mut self, outcome: Result<OutputJson, CallStop>) -> Envelope {
        let (envelope, failure) = self.end(outcome);
        let_go(failure);
        envelope
    }

    /// Ends a call from outside that came to nothing, whatever panics meanwhile.
    pub(super) fn end_contained(&mut self, stop: CallStop) -> Envelope {
        match catch_unwind(AssertUnwindSafe(|| self.end_outside(Err(stop)))) {
            Ok(envelope) => envelope,
            Err(payload) => self.lost(&*payload),
        }
    }

    /// Ends a stream that came to its own end, after items of so many characters.
    pub(super) fn end_stream(&mut self, characters: u64) -> Meta {
        self.ended = true;
        let elapsed = self.since.elapsed();
        self.tell(CallEnd::default(), elapsed);
        Meta { estimated_tokens: characters.div_ceil(4), ..self.meta(elapsed) }
    }

    /// Ends a round that asks something: there is no outcome yet.
    pub(super) fn end_round(&mut self) -> Meta {
        self.ended = true;
        let elapsed = self.since.elapsed();
        self.tell(CallEnd { asks: true, ..CallEnd::default() }, elapsed);
        self.meta(elapsed)
    }

    pub(super) fn meta(&self, elapsed: Duration) -> Meta {
        Meta {
            request_id: self.ctx.request_id.clone(),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            estimated_tokens: 0,
            session_id: self.ctx.session_id.clone(),
        }
    }

    /// Tells the observers that the operation exists and its call is on its way.
    pub(super) fn tell_began(&self, entry: &RegisteredOperation) {
        for observer in &self.ctx.registry.0.observers {
            if catch_unwind(AssertUnwindSafe(|| observer.began(&entry.declaration))).is_err() {
                tracing::error!(request_id = %self.ctx.request_id, "an observer panicked");
            }
        }
    }

    /// Tells the log and the observers how the call ended.
    fn tell(&mut self, ended: CallEnd<'_>, elapsed: Duration) {
        self.tell_observers(ended, elapsed);
        self.record(ended.problem, ended.asks, elapsed);
    }

    fn tell_observers(&self, ended: CallEnd<'_>, elapsed: Duration) {
        let CallEnd { problem, fault, cause, asks } = ended;
        // What is logged of the call, here or by an observer, belongs to its span.
        let _inside = self.span.enter();
        let operation = self.ctx.entry.as_ref().map(|entry| &entry.declaration);
        self.span.record(|span| {
            if let Some(operation) = operation {
                span.record("operation", operation.name().as_str());
            }
            if let Some(problem) = problem {
                span.record("code", problem.code.as_str()).record("kind", problem.kind.as_str());
            }
        });
        // A stream is open as long as its reader likes; only its opening can be slow.
        let elapsed_ms = self.opened_after.unwrap_or(elapsed).as_millis();
        if elapsed_ms >= self.ctx.registry.0.settings.slow.as_millis()
            && let Some(operation) = operation
        {
            contain(|| {
                tracing::warn!(request_id = %self.ctx.request_id, operation = %operation.name(), elapsed_ms, "a call was slow");
            });
        }
        for observer in &self.ctx.registry.0.observers {
            let call = EndedCall {
                operation,
                request_id: &self.ctx.request_id,
                parent: self.ctx.parent.as_ref(),
                caller: self.ctx.caller.as_deref(),
                problem,
                fault,
                cause,
                asks,
                face: self.ctx.face,
                elapsed,
            };
            if catch_unwind(AssertUnwindSafe(|| observer.ended(&call))).is_err() {
                tracing::error!(request_id = %self.ctx.request_id, "an observer panicked");
            }
        }
    }
}

/// A call that nobody waits for any more ends as cancelled, one that a panic drops as internal, and one below a call that
/// asks something ends as that one does: the observers are told of it once, like of any other.
impl Drop for Call {
    fn drop(&mut self) {
        let listening = !self.ctx.registry.0.observers.is_empty() || self.audited.is_some() || !self.span.is_disabled();
        if !listening || self.ended {
            return;
        }
        if self.ctx.asking.as_ref().is_some_and(|asking| asking.is_waiting()) {
            self.tell(CallEnd { asks: true, ..CallEnd::default() }, self.since.elapsed());
        } else {
            let code = if std::thread::panicking() { EngineCode::Internal } else { EngineCode::Cancelled };
            let problem = self.engine(code, None, None);
            self.tell(CallEnd { problem: Some(&problem), ..CallEnd::default() }, self.since.elapsed());
        }
    }
}
