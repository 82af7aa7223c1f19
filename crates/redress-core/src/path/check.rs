//! Access by what is asked for: the operation's own check, right after the input is decoded. A check that cannot tell
//! refuses.

use std::{future::Future, panic::AssertUnwindSafe};

use futures_util::FutureExt as _;
use redress_contract::EngineCode;

use super::{Call, CallStop, FailedCall, drive::panic_text};
use crate::{
    Fault, Refusal,
    author::{
        access_check::OperationCheck,
        fail::{ErasedFail, FailCause},
        handler::ReadInput,
    },
    call::logged_cause::LoggedCause,
    registry::RegisteredOperation,
};

impl Call {
    /// Asks the check of the operation. It sees the caller of this very call: in a composed call that is whom the
    /// composing operation calls as.
    ///
    /// A declared failure is no refusal yet: the call goes on as if it were let in, and ends with it in the handler's
    /// place, so that guards, keys and quotas see what they would see of the handler's own.
    ///
    /// The future is made before it is waited for, since an input need not be one that two threads may look at.
    pub(super) fn check<'a>(
        &'a self,
        entry: &'a RegisteredOperation,
        check: &OperationCheck,
        input: &'a ReadInput,
    ) -> impl Future<Output = Result<Option<Box<FailedCall>>, CallStop>> + Send + 'a {
        let checking = check.run(&self.ctx, &**input);
        let verdict = async move {
            match AssertUnwindSafe(checking).catch_unwind().await {
                Ok(Ok(true)) => Ok(None),
                Ok(Ok(false)) => Err(FailedCall::new(Refusal::not_allowed().into_problem())),
                Ok(Err(ending)) => self.map_check(entry, *ending),
                Err(payload) => Err(self.check_panicked(&*payload)),
            }
        };
        self.within(verdict)
    }

    /// A bad ending that the check returned. A declared failure stands for the handler's own: it must be the same to
    /// the last member, or the difference tells that there is something to hide. Whatever else it is refuses the call,
    /// of which nothing has run.
    fn map_check(
        &self,
        entry: &RegisteredOperation,
        ending: ErasedFail,
    ) -> Result<Option<Box<FailedCall>>, Box<FailedCall>> {
        if !matches!(ending.cause, FailCause::Failure(_)) {
            return Err(self.map_ending(entry, ending));
        }
        let mut bad = self.as_if_started(|| self.map_ending(entry, ending));
        if bad.failure.is_some() {
            return Ok(Some(bad));
        }
        // It was not declared, or its details are not what was declared.
        bad.problem = self.engine(EngineCode::Internal, bad.problem.details.take(), None);
        Err(bad)
    }

    /// Ends the call with the declared failure of its check, at the handler's place.
    pub(super) fn end_checked<T>(&self, entry: &RegisteredOperation, bad: Box<FailedCall>) -> Result<T, CallStop> {
        match self.start_handler() {
            None => Err(bad.into()),
            Some(never) => self.map(entry, never),
        }
    }

    #[cold]
    fn check_panicked(&self, payload: &(dyn std::any::Any + Send)) -> Box<FailedCall> {
        let text =
            LoggedCause::of_text(panic_text(payload)).without(self.ctx.entry.as_ref().map(|entry| &entry.credentials));
        tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), code = EngineCode::Internal.as_str(), panic = %text, "an access check panicked, and the call is refused");
        self.refuse(EngineCode::Internal).by(Fault::Panic)
    }
}
