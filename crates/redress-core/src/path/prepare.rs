//! From the limits to the handler: what both kinds of handlers have before them and around them, written once.

use std::sync::Arc;

use redress_contract::OutputJson;
use redress_input::{DecodeError, InputShape};
use tokio::time::Instant;

use super::{Call, CallInput, CallStop, FailedCall, admit::Permits, drive::HandlerRun, quota::CountedQuota};
use crate::{
    Ctx,
    author::{
        fail::ErasedFail,
        handler::{BoxFuture, HandlerItems, InputReader, ReadInput, StreamHandler, UnaryHandler},
    },
    registry::RegisteredOperation,
};

/// A handler that was given its input, and has not started.
pub(super) type RunningHandler<'a, T> = BoxFuture<'a, Result<T, Box<ErasedFail>>>;

/// A handler of either kind, with the context that it will run in.
pub(super) trait Invocation {
    /// The handler with its input. It gives an output, or the items of a stream.
    type Running;

    /// What reads the input.
    fn reader(&self) -> Arc<dyn InputReader>;

    /// Reads the input and makes the handler ready.
    fn ready(&self, shape: &InputShape, input: &[u8]) -> Result<Self::Running, DecodeError>;

    /// The same with an input that was read before.
    fn ready_with(&self, input: ReadInput) -> Self::Running;
}

/// What answers once, and borrows the context of its call.
pub(super) struct UnaryInvocation<'a> {
    pub(super) handler: &'a Arc<dyn UnaryHandler>,
    pub(super) ctx: &'a Ctx,
}

impl<'a> Invocation for UnaryInvocation<'a> {
    type Running = RunningHandler<'a, OutputJson>;

    fn reader(&self) -> Arc<dyn InputReader> {
        Arc::clone(self.handler) as _
    }

    #[inline]
    fn ready(&self, shape: &InputShape, input: &[u8]) -> Result<Self::Running, DecodeError> {
        self.handler.ready(self.ctx, shape, input)
    }

    fn ready_with(&self, input: ReadInput) -> Self::Running {
        self.handler.ready_with(self.ctx, input)
    }
}

/// What opens a stream. That outlives the request, so it has a context of its own, which shares the token that its reader
/// cancels. The operation's own deadline is for the opening, which `drive` bounds; the stream itself has none but its
/// caller's.
pub(super) struct StreamInvocation<'a> {
    pub(super) handler: &'a Arc<dyn StreamHandler>,
    pub(super) ctx: &'a Ctx,
}

impl StreamInvocation<'_> {
    fn outlives(&self) -> Ctx {
        Ctx { deadline: self.ctx.caller_deadline, ..self.ctx.clone() }
    }
}

impl Invocation for StreamInvocation<'_> {
    type Running = RunningHandler<'static, HandlerItems>;

    fn reader(&self) -> Arc<dyn InputReader> {
        Arc::clone(self.handler) as _
    }

    fn ready(&self, shape: &InputShape, input: &[u8]) -> Result<Self::Running, DecodeError> {
        self.handler.ready(self.outlives(), shape, input)
    }

    fn ready_with(&self, input: ReadInput) -> Self::Running {
        self.handler.ready_with(self.outlives(), input)
    }
}

/// What stands at the handler's place.
pub(super) enum ReadyHandler<R> {
    /// The handler, with its input.
    Runs(R),
    /// The declared failure of the operation's check.
    Fails(Box<FailedCall>),
}

impl Call {
    /// Size, input schema, check, content guard and guards.
    pub(super) async fn prepare<I: Invocation>(
        &self,
        entry: &Arc<RegisteredOperation>,
        invocation: &I,
        call_input: &CallInput<'_>,
    ) -> Result<ReadyHandler<I::Running>, CallStop> {
        self.size(entry, call_input)?;
        let ready = if call_input.is_large() || entry.check.is_some() {
            match Box::pin(self.read_checked(entry, invocation.reader(), call_input)).await? {
                (input, None) => ReadyHandler::Runs(invocation.ready_with(input)),
                (_, Some(failed)) => ReadyHandler::Fails(failed),
            }
        } else {
            self.measure(call_input)?;
            let running = match invocation.ready(&entry.input, &call_input.input) {
                Ok(running) => running,
                Err(error) => {
                    return Err(Box::pin(self.explain(entry, invocation.reader(), call_input, error)).await);
                }
            };
            self.content(entry, &call_input.input)?;
            ReadyHandler::Runs(running)
        };
        // What most calls do without is boxed, so that it takes no room in every call.
        if !entry.guards.is_empty() {
            Box::pin(self.within(self.guards(entry, call_input))).await?;
        }
        Ok(ready)
    }

    /// Runs the handler and maps how it ended, or ends the call with the failure of its check in the handler's place.
    /// `waited` says whether it had to wait for more than its handler since the limits admitted it.
    pub(super) async fn handle<T>(
        &self,
        entry: &RegisteredOperation,
        ready: ReadyHandler<RunningHandler<'_, T>>,
        counted: Option<CountedQuota<'_>>,
        permits: &mut Permits,
        waited: bool,
    ) -> Result<T, CallStop> {
        let running = match ready {
            ReadyHandler::Runs(running) => running,
            ReadyHandler::Fails(failed) => {
                let ended = self.end_checked(entry, failed);
                // What was counted stays so, as where the handler fails.
                drop(counted);
                return ended;
            }
        };
        let began = waited.then(Instant::now);
        // Whether a person was waited for is known at the end alone.
        if self.ctx.asking.is_none() {
            permits.ran(began);
        }
        let ended = self.drive(running).await;
        if let Some(counted) = counted {
            counted.ended(matches!(ended, HandlerRun::Asks));
        }
        if self.ctx.asking.as_ref().is_some_and(|asking| !asking.has_asked()) {
            permits.ran(began);
        }
        self.map(entry, ended)
    }
}
