//! The one call path. Every face, every composed call and every stream takes it, in this order, and each step stands in
//! one place:
//!
//! 1. `begin`: request id and clock;
//! 2. `admit`: find → visibility → shape → caller → access → key taken → consent → room for the answer → limits. What it gives
//!    is an [`Admitted`], without which nothing of a call is looked at; a detached call goes on with it in its task;
//! 3. `prepare`: size → input schema → check → content guard → guards;
//! 4. for what answers once: idempotency; for every call: quota counted;
//! 5. `handle`: handler → map the failure; for what answers once: check the output;
//! 6. `end`: envelope → observers and audit.
//!
//! A call that stops before its outcome says so by a [`CallStop`]: it has failed, or it has asked its caller something.
//!
//! Why so: docs/decisions/0137-the-order-stands-once.md.

mod admit;
mod allow;
mod answer_budget;
mod audit;
mod begin;
mod check;
mod complete;
mod content;
mod converse;
mod deprecated;
mod detached;
mod drive;
mod end;
mod find;
mod guards;
mod idempotency;
mod invalid_input;
mod large_work;
mod map;
mod next_calls;
mod prepare;
mod quota;
mod refusal;
mod subscribe;
mod verify;

use std::{
    any::Any,
    borrow::Cow,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, OnceLock},
};

use redress_contract::{EngineCode, Envelope, OutputJson, Shape};
use tokio::time::Instant;

use admit::{Admitted, Permits, waited};
pub(crate) use begin::{Call, make_id};
pub use complete::Completion;
pub use converse::{Asks, Turn};
pub(crate) use deprecated::StillCalled;
use detached::{Detached, OwnedCallInput};
use idempotency::Claimed;
use prepare::UnaryInvocation;
use quota::QuotaReservation;
pub use refusal::Refusal;
pub(crate) use refusal::{CallStop, FailedCall};
pub use subscribe::{Event, Subscription};

use crate::{
    Ctx, Fault, Registry, Request, Secret,
    author::handler::BoundHandler,
    call::{ask::AskContext, logged_cause::LoggedCause, progress::BoundedListener},
    contained::{ContainedSpan, contain, poll_contained},
};

/// What one call asks for. Everything else that it brings along is in the context.
pub(crate) struct CallInput<'a> {
    pub(crate) name: &'a str,
    pub(crate) input: Cow<'a, [u8]>,
    pub(crate) token: Option<Secret>,
}

impl Registry {
    /// Calls an operation once. It always answers, whatever happens, and drops the handler
    /// when the deadline passes, when it is cancelled, and when the answer is no longer
    /// waited for. A call with an idempotency key runs to its end in that last case, so that
    /// its outcome can be had by the same call once more.
    pub async fn call(&self, name: &str, request: Request<'_>) -> Envelope {
        let (mut call, call_input) = self.begin(name, request);
        if let Some(detached) = call.detached(&call_input) {
            return Box::pin(call.answer_detached(detached, call_input)).await;
        }
        let ended = call.answer(&call_input).await;
        call.end_recorded(ended).await
    }

    /// The call that a request from outside makes.
    #[inline]
    fn begin<'a>(&self, name: &'a str, request: Request<'a>) -> (Call, CallInput<'a>) {
        let since = Instant::now();
        // One that no clock can show is none: the operation has its own.
        let deadline = request.deadline.and_then(|deadline| since.checked_add(deadline));
        let ctx = Ctx {
            registry: self.clone(),
            entry: None,
            caller: request.caller,
            request_id: request.request_id.unwrap_or_else(|| make_id(since)),
            parent: None,
            deadline,
            caller_deadline: deadline,
            depth: 0,
            face: request.face,
            peer: request.peer,
            sign_in: request.sign_in,
            session_id: request.session_id,
            idempotency_key: request.idempotency_key,
            last_event_id: request.last_event_id,
            listener: request.listener.map(BoundedListener::around),
            asking: request.asker.map(|asker| Arc::new(AskContext::live(asker))),
            above: request.cancellation,
            own: OnceLock::new(),
            account: request.account,
            room: OnceLock::new(),
            reserves: OnceLock::new(),
        };
        (Call::begin(ctx, since), CallInput { name, input: request.input, token: request.token })
    }
}

/// Runs steps of a call inside its span. Every step may run code of the author's (stores, limits, guards, decoders), so
/// this is where a panic ends.
///
/// The steps are polled where they stand: each combinator around them would copy them.
async fn contained<T>(
    span: ContainedSpan,
    mut steps: Pin<&mut impl Future<Output = T>>,
) -> Result<T, Box<dyn Any + Send>> {
    poll_fn(|cx| {
        let _inside = span.enter();
        poll_contained(steps.as_mut(), cx)
    })
    .await
}

impl Call {
    /// Takes the whole path up to the outcome.
    pub(crate) async fn answer(&mut self, call_input: &CallInput<'_>) -> Result<OutputJson, CallStop> {
        let span = self.span.clone();
        let ended = {
            let steps = pin!(self.steps(call_input));
            contained(span, steps).await
        };
        self.outcome(call_input, ended)
    }

    /// The first half of the path, for a call that goes on elsewhere.
    pub(super) async fn admitted(&mut self, call_input: &CallInput<'_>) -> Result<Admitted, CallStop> {
        let span = self.span.clone();
        let ended = {
            let steps = pin!(self.admit(call_input, Shape::Query));
            contained(span, steps).await
        };
        ended.unwrap_or_else(|payload| Err(self.map_panic(&*payload).into()))
    }

    /// The second half of the path, up to the outcome.
    pub(super) async fn answer_admitted(
        &mut self,
        admitted: Admitted,
        call_input: &CallInput<'_>,
    ) -> Result<OutputJson, CallStop> {
        let span = self.span.clone();
        let ended = {
            let steps = pin!(self.run(admitted, call_input));
            contained(span, steps).await
        };
        self.outcome(call_input, ended)
    }

    /// What the steps came to.
    fn outcome(
        &self,
        call_input: &CallInput<'_>,
        ended: Result<Result<OutputJson, CallStop>, Box<dyn Any + Send>>,
    ) -> Result<OutputJson, CallStop> {
        match ended.unwrap_or_else(|payload| Err(self.map_panic(&*payload).into())) {
            Err(CallStop::Failed(bad)) => Err(self.to_verify(call_input, bad).into()),
            ended @ (Ok(_) | Err(CallStop::Suspended)) => ended,
        }
    }

    /// A call that runs in a task of its own, from when it is admitted.
    async fn answer_detached(mut self, detached: Detached, call_input: CallInput<'_>) -> Envelope {
        match self.admitted(&call_input).await {
            Err(stop) => self.end_recorded(Err(stop)).await,
            Ok(admitted) => {
                let owned = OwnedCallInput::from(call_input);
                let rest = async move {
                    let ended = self.answer_admitted(admitted, &owned.call_input()).await;
                    self.end_recorded(ended).await
                };
                detached.run(rest).await.unwrap_or_else(|gone| gone)
            }
        }
    }

    /// Ends a call from outside, and waits until that is recorded. Whatever panics meanwhile, there is an outcome.
    async fn end_recorded(&mut self, ended: Result<OutputJson, CallStop>) -> Envelope {
        let ended = {
            let mut ending = pin!(async {
                let envelope = self.end_outside(ended);
                if let Some(receipt) = self.receipt() {
                    receipt.await;
                }
                envelope
            });
            poll_fn(|cx| poll_contained(ending.as_mut(), cx)).await
        };
        ended.unwrap_or_else(|payload| self.lost(&*payload))
    }

    /// The outcome of a call whose own was lost by a panic beside the steps, such as one of a subscriber of the log.
    pub(super) fn lost(&mut self, payload: &(dyn Any + Send)) -> Envelope {
        contain(|| {
            let panic = LoggedCause::of_text(drive::panic_text(payload))
                .without(self.ctx.entry.as_ref().map(|entry| &entry.credentials));
            tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = EngineCode::Internal.as_str(), %panic, "the outcome of a call was lost by a panic");
        });
        if !self.ended
            && let Some(envelope) = contain(|| {
                let bad = self.refuse(EngineCode::Internal).by(Fault::Panic);
                self.end_outside(Err(bad.into()))
            })
        {
            return envelope;
        }
        let bad = self.refuse(EngineCode::Internal);
        Envelope::failure(bad.problem, None, self.meta(self.since.elapsed()))
    }

    /// The whole path of a call that answers once.
    async fn steps(&mut self, call_input: &CallInput<'_>) -> Result<OutputJson, CallStop> {
        let admitted = self.admit(call_input, Shape::Query).await?;
        self.run(admitted, call_input).await
    }

    /// From the input to the outcome, for what answers once.
    async fn run(&mut self, admitted: Admitted, call_input: &CallInput<'_>) -> Result<OutputJson, CallStop> {
        let Admitted { mut permits } = admitted;
        self.note_any_input(call_input).await?;
        // From here on the call only grows older: the handler borrows what is known of it.
        let this = &*self;
        let entry = this.entry()?;
        let BoundHandler::Once(handler) = &entry.bound else {
            return Err(this.refuse(EngineCode::HandlerNotBound).into());
        };
        let ready = this.prepare(entry, &UnaryInvocation { handler, ctx: &this.ctx }, call_input).await?;
        let claim = match &this.ctx.idempotency_key {
            None => None,
            Some(key) => {
                let exhausted = permits.quota.as_ref().and_then(QuotaReservation::exhausted);
                match Box::pin(this.within(this.claim(entry, call_input, key, exhausted))).await? {
                    Claimed::Run(claim) => Some(claim),
                    Claimed::Again(kept) => return Box::pin(this.again(ready, kept)).await,
                }
            }
        };
        let counted = match permits.quota.take() {
            None => None,
            quota => Box::pin(this.counted(quota)).await?,
        };
        let waited = claim.is_some() || waited(entry, call_input, counted.is_some());
        let outcome = match this.handle(entry, ready, counted, &mut permits, waited).await {
            Ok(output) if this.is_large_output(entry, &output) => {
                Box::pin(this.check_large_output(entry, output)).await.map_err(CallStop::from)
            }
            Ok(output) => this.check_output(entry, output).map_err(CallStop::from),
            Err(stop) => Err(stop),
        };
        let outcome = match claim {
            Some(claim) => Box::pin(claim.settle(outcome)).await,
            None => outcome,
        };
        drop(permits);
        outcome
    }

    /// Everything before the input is looked at, for what answers once and for streams.
    async fn admit(&mut self, call_input: &CallInput<'_>, wanted: Shape) -> Result<Admitted, CallStop> {
        let held = self.let_in(call_input, wanted).await?;
        // Each item of a stream takes its room when it is there.
        if wanted != Shape::Subscription && self.expects_much() {
            Box::pin(self.room()).await?;
        }
        let permits = match held {
            Some(permits) => *permits,
            None => self.all_limits(self.entry()?).await?,
        };
        Ok(Admitted { permits })
    }

    /// The steps that every call takes before anything of it is decoded: find, visibility,
    /// shape, caller, access, key, consent. Where a person is asked for consent, the limits come before the question,
    /// and what they handed out comes back.
    async fn let_in(&mut self, call_input: &CallInput<'_>, wanted: Shape) -> Result<Option<Box<Permits>>, CallStop> {
        let Some(entry) = self.find(call_input) else {
            self.found_nothing();
            return Err(Box::pin(self.not_found(call_input)).await.into());
        };
        self.tell_began(&entry);
        self.found(entry);
        self.shape(self.entry()?, wanted)?;
        if let Some(token) = &call_input.token {
            let known =
                self.ctx.registry.0.identity.as_ref().and_then(|provider| provider.known(token.expose().as_bytes()));
            self.ctx.caller = match known {
                Some(caller) => Some(caller),
                None => Box::pin(self.within(self.identify(call_input))).await?,
            };
        }
        self.recordable()?;
        let admitted = self.access(self.entry()?);
        // Nobody at all must not be able to fill the audit.
        if admitted.is_ok() || self.ctx.caller.is_some() {
            self.note_audited();
        }
        if let (Ok(()), Some(still_called)) = (&admitted, &self.entry()?.still_called) {
            self.note_deprecated(self.entry()?, call_input.name, still_called);
        }
        let admitted = admitted.and_then(|()| self.takes_key(self.entry()?));
        let admitted = match admitted {
            Ok(()) if call_input.is_large() => Box::pin(self.large_belongs(self.entry()?, call_input)).await,
            admitted => admitted.and_then(|()| self.belongs(self.entry()?, call_input)).map_err(CallStop::from),
        };
        let admitted = match admitted {
            Ok(()) if self.entry()?.declaration.access().needs_consent() => {
                match Box::pin(self.within(self.has_agreed(self.entry()?))).await {
                    Ok(false) => {
                        // Who is asked may leave.
                        self.note_any_input(call_input).await?;
                        Box::pin(self.agree_within_limits(self.entry()?, call_input)).await
                    }
                    agreed => agreed.map(|_| None),
                }
            }
            admitted => admitted.map(|()| None),
        };
        if admitted.is_err() {
            // Why it is refused is known, even if its record has to do without a digest.
            let _ = self.note_any_input(call_input).await;
        }
        admitted
    }
}
