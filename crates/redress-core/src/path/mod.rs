//! The one call path. Every face, every composed call and every stream takes it, in this
//! order, and each step stands in one place:
//!
//! request id and clock → find → visibility → shape → caller → access → consent → limits →
//! size → input schema → content guard → guards → idempotency → handler → map the failure →
//! check the output → envelope → observers.

mod admit;
mod begin;
mod content;
mod drive;
mod end;
mod find;
mod guards;
mod map;
mod read;
mod refuse;
mod repeat;
mod subscribe;

use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use redress_contract::{Caller, EngineCode, Envelope, Output, RequestId, Shape};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

pub(crate) use begin::Call;
pub(crate) use refuse::Bad;
pub use refuse::Refusal;
pub use subscribe::{Event, Subscription};

use crate::{Registry, Request, Secret, handler::Bound, registry::Entry};

/// What one call brings along.
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a str,
    pub(crate) input: Cow<'a, [u8]>,
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) token: Option<Secret>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) session_id: Option<Arc<str>>,
    pub(crate) idempotency_key: Option<Arc<str>>,
    pub(crate) last_event_id: Option<Arc<str>>,
    /// The call that made this one; nothing for a call from outside.
    pub(crate) parent: Option<RequestId>,
    pub(crate) depth: usize,
}

impl<'a> Asked<'a> {
    fn from_outside(name: &'a str, request: Request<'a>, since: Instant) -> (Asked<'a>, Option<RequestId>) {
        let asked = Asked {
            name,
            input: request.input,
            caller: request.caller,
            token: request.token,
            deadline: request.deadline.map(|deadline| since + deadline),
            cancellation: request.cancellation,
            session_id: request.session_id,
            idempotency_key: request.idempotency_key,
            last_event_id: request.last_event_id,
            parent: None,
            depth: 0,
        };
        (asked, request.request_id)
    }
}

impl Registry {
    /// Calls an operation once. It always answers, whatever happens, and drops the handler
    /// when the deadline passes, when it is cancelled, and when the answer is no longer
    /// waited for.
    pub async fn call(&self, name: &str, request: Request<'_>) -> Envelope {
        let since = Instant::now();
        let (asked, id) = Asked::from_outside(name, request, since);
        let mut call = Call::begin(self.clone(), &asked, id, since);
        let ended = call.answer(asked).await;
        call.end_outside(ended)
    }
}

impl Call {
    /// Runs the path up to its outcome, inside a span that names the call. Every step may run
    /// code of the author's (stores, limits, guards, decoders), so this is where a panic ends.
    pub(crate) async fn answer(&mut self, asked: Asked<'_>) -> Result<Output, Box<Bad>> {
        let span = self.span.clone();
        let ended = if span.is_disabled() {
            AssertUnwindSafe(self.steps(asked)).catch_unwind().await
        } else {
            AssertUnwindSafe(self.steps(asked)).catch_unwind().instrument(span).await
        };
        ended.unwrap_or_else(|payload| Err(self.map_panic(&*payload)))
    }

    async fn steps(&mut self, mut asked: Asked<'_>) -> Result<Output, Box<Bad>> {
        let entry = self.admit(&mut asked, Shape::Query).await?;
        let _permits = self.limits(&entry)?;
        self.size(&entry, &asked)?;
        let Bound::Once(handler) = &entry.bound else {
            return Err(self.refuse(EngineCode::HandlerNotBound));
        };
        let ctx = self.ctx(&entry, &asked);
        let running = match handler.ready(&ctx, &entry.input, &asked.input) {
            Ok(running) => running,
            Err(error) => return Err(self.explain(&entry, &**handler, &asked.input, error)),
        };
        self.content(&entry, &asked.input)?;
        self.guards(&entry, &asked).await?;
        let claim = match self.claim(&entry, &asked).await? {
            repeat::Claimed::Run(claim) => claim,
            repeat::Claimed::Again(recorded) => return recorded,
        };
        let ended = self.drive(running, &ctx).await;
        let outcome = self.map(&entry, &ctx, ended);
        let outcome = outcome.and_then(|output| self.check_output(&entry, output));
        if let Some(claim) = claim {
            claim.settle(&outcome);
        }
        outcome
    }

    /// The steps that every call takes before anything of it is decoded: find, visibility,
    /// shape, caller, access, consent.
    async fn admit(&mut self, asked: &mut Asked<'_>, wanted: Shape) -> Result<Arc<Entry>, Box<Bad>> {
        let entry = self.find(asked).await?;
        self.entry = Some(Arc::clone(&entry));
        self.shape(&entry, wanted)?;
        self.caller = self.identify(asked).await?;
        self.access(&entry)?;
        self.consent(&entry).await?;
        Ok(entry)
    }
}
