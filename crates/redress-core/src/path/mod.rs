//! The one call path. Every face, every composed call and every stream takes it, in this
//! order, and each step stands in one place:
//!
//! request id and clock → find → visibility → shape → caller → access → key taken → consent → room for the
//! answer → limits → size → input schema → check → content guard → guards → idempotency → quota counted → handler →
//! map the failure → check the output → envelope → observers and audit.

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
mod quota;
mod refusal;
mod subscribe;
mod verify;

use std::{
    borrow::Cow,
    future::{Future as _, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, OnceLock},
    task::Poll,
};

use futures_util::FutureExt as _;
use redress_contract::{EngineCode, Envelope, OutputJson, Shape};
use tokio::time::Instant;
use tracing::Instrument as _;

use admit::{Permits, waited};
pub(crate) use begin::{Call, make_id};
pub use complete::Completion;
pub use converse::{Asks, Turn};
pub(crate) use deprecated::StillCalled;
use detached::{Detached, OwnedCallInput};
use drive::HandlerRun;
pub(crate) use refusal::FailedCall;
pub use refusal::Refusal;
pub use subscribe::{Event, Subscription};

use crate::{
    Ctx, Registry, Request, Secret,
    author::handler::BoundHandler,
    call::{ask::AskContext, progress::BoundedListener},
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
        if let Some(apart) = call.detached(&call_input) {
            return Box::pin(call.answer_apart(apart, call_input)).await;
        }
        let ended = call.answer(&call_input, None).await;
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

impl Call {
    /// Runs the path up to its outcome, inside a span that names the call. Every step may run
    /// code of the author's (stores, limits, guards, decoders), so this is where a panic ends.
    ///
    /// The steps are polled where they stand: each combinator around them would copy them.
    pub(crate) async fn answer(
        &mut self,
        call_input: &CallInput<'_>,
        permits: Option<Permits>,
    ) -> Result<OutputJson, Box<FailedCall>> {
        let span = (!self.span.is_disabled()).then(|| self.span.clone());
        let ended = {
            let mut steps = pin!(self.steps(call_input, permits));
            poll_fn(|cx| {
                let _inside = span.as_ref().map(tracing::Span::enter);
                match catch_unwind(AssertUnwindSafe(|| steps.as_mut().poll(cx))) {
                    Ok(polled) => polled.map(Ok),
                    Err(payload) => Poll::Ready(Err(payload)),
                }
            })
            .await
        };
        ended.unwrap_or_else(|payload| Err(self.map_panic(&*payload))).map_err(|bad| self.to_verify(call_input, bad))
    }

    /// A call that runs in a task of its own, from when it is admitted.
    async fn answer_apart(mut self, apart: Detached, call_input: CallInput<'_>) -> Envelope {
        match self.admitted(&call_input).await {
            Err(bad) => self.end_recorded(Err(bad)).await,
            Ok(permits) => {
                let taken = OwnedCallInput::from(call_input);
                let rest = async move {
                    let ended = self.answer(&taken.call_input(), Some(permits)).await;
                    self.end_recorded(ended).await
                };
                apart.run(rest).await.unwrap_or_else(|gone| gone)
            }
        }
    }

    /// Ends a call from outside, and waits until that is recorded.
    async fn end_recorded(&mut self, ended: Result<OutputJson, Box<FailedCall>>) -> Envelope {
        let envelope = self.end_outside(ended);
        if let Some(receipt) = self.receipt() {
            receipt.await;
        }
        envelope
    }

    /// The steps up to the limits, for a call that goes on elsewhere.
    pub(super) async fn admitted(&mut self, call_input: &CallInput<'_>) -> Result<Permits, Box<FailedCall>> {
        let span = self.span.clone();
        let steps = async {
            let held = self.admit(call_input, Shape::Query).await?;
            self.room().await?;
            match held {
                Some(permits) => Ok(*permits),
                None => self.all_limits(self.entry()?).await,
            }
        };
        let ended = AssertUnwindSafe(steps).catch_unwind().instrument(span).await;
        ended.unwrap_or_else(|payload| Err(self.map_panic(&*payload)))
    }

    async fn steps(
        &mut self,
        call_input: &CallInput<'_>,
        mut permits: Option<Permits>,
    ) -> Result<OutputJson, Box<FailedCall>> {
        if permits.is_none() {
            permits = self.admit(call_input, Shape::Query).await?.map(|held| *held);
            if self.expects_much() {
                Box::pin(self.room()).await?;
            }
        }
        let mut permits = match permits {
            Some(permits) => permits,
            None => {
                let mut permits = self.limits(self.entry()?)?;
                if self.ctx.registry.0.has_quotas {
                    permits.quota = Box::pin(self.set_aside(self.entry()?)).await?;
                }
                permits
            }
        };
        self.note_any_input(call_input).await?;
        // From here on the call only grows older: the handler borrows what is known of it.
        let this = &*self;
        let entry = this.entry()?;
        this.size(entry, call_input)?;
        let BoundHandler::Once(handler) = &entry.bound else {
            return Err(this.refuse(EngineCode::HandlerNotBound));
        };
        let running = if call_input.is_large() || entry.check.is_some() {
            match Box::pin(this.read_checked(entry, Arc::clone(handler) as _, call_input)).await? {
                (input, None) => Ok(handler.ready_with(&this.ctx, input)),
                (_, Some(failed)) => Err(failed),
            }
        } else {
            this.measure(call_input)?;
            let running = match handler.ready(&this.ctx, &entry.input, &call_input.input) {
                Ok(running) => running,
                Err(error) => {
                    return Err(Box::pin(this.explain(entry, Arc::clone(handler) as _, call_input, error)).await);
                }
            };
            this.content(entry, &call_input.input)?;
            Ok(running)
        };
        // What most calls do without is boxed, so that it takes no room in every call.
        if !entry.guards.is_empty() {
            Box::pin(this.within(this.guards(entry, call_input))).await?;
        }
        let claim = match &this.ctx.idempotency_key {
            None => None,
            Some(key) => match Box::pin(this.within(this.claim(
                entry,
                call_input,
                key,
                permits.quota.as_ref().and_then(quota::QuotaReservation::exhausted),
            )))
            .await?
            {
                idempotency::Claimed::Run(claim) => Some(claim),
                idempotency::Claimed::Again(kept) => {
                    return match (running, kept) {
                        // What is kept is not for somebody who may not have it any more.
                        (Err(failed), _) => Err(failed),
                        (Ok(_), Ok(output)) => {
                            Box::pin(this.within(async { Ok(this.ctx.charged(output).await) })).await
                        }
                        (Ok(_), Err(bad)) => Err(bad),
                    };
                }
            },
        };
        let counted = match permits.quota.take() {
            None => None,
            quota => Box::pin(this.counted(quota)).await?,
        };
        let outcome = match running {
            Ok(running) => {
                let began = (claim.is_some() || waited(entry, call_input, counted.is_some())).then(Instant::now);
                // Whether a person was waited for is known at the end alone.
                if this.ctx.asking.is_none() {
                    permits.ran(began);
                }
                let ended = this.drive(running).await;
                if let Some(counted) = counted {
                    counted.ended(matches!(ended, HandlerRun::Asks));
                }
                if this.ctx.asking.as_ref().is_some_and(|asking| !asking.has_asked()) {
                    permits.ran(began);
                }
                this.map(entry, ended)
            }
            Err(failed) => {
                let ended = this.end_checked(entry, failed);
                drop(counted);
                ended
            }
        };
        let outcome = match outcome {
            Ok(output) if this.is_large_output(entry, &output) => {
                Box::pin(this.check_large_output(entry, output)).await
            }
            outcome => outcome.and_then(|output| this.check_output(entry, output)),
        };
        let outcome = match claim {
            Some(claim) => Box::pin(claim.settle(outcome)).await,
            None => outcome,
        };
        drop(permits);
        outcome
    }

    /// The steps that every call takes before anything of it is decoded: find, visibility,
    /// shape, caller, access, key, consent. Where a person is asked for consent, the limits come before the question,
    /// and what they handed out comes back.
    async fn admit(
        &mut self,
        call_input: &CallInput<'_>,
        wanted: Shape,
    ) -> Result<Option<Box<Permits>>, Box<FailedCall>> {
        let Some(entry) = self.find(call_input) else {
            self.found_nothing();
            return Err(Box::pin(self.not_found(call_input)).await);
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
            admitted => admitted.and_then(|()| self.belongs(self.entry()?, call_input)),
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
