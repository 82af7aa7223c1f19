//! Guards: layers that may refuse, in the order in which they were added; the first veto wins.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use redress_contract::EngineCode;

use super::{Call, CallInput, FailedCall};
use crate::{DynamicFailure, GuardBroken, GuardedCall, Veto, WhenBroken, registry::RegisteredOperation};

impl Call {
    pub(super) async fn guards(
        &self,
        entry: &RegisteredOperation,
        call_input: &CallInput<'_>,
    ) -> Result<(), Box<FailedCall>> {
        for guard in &entry.guards {
            let call = GuardedCall {
                operation: &entry.declaration,
                caller: self.ctx.caller.as_deref(),
                request_id: &self.ctx.request_id,
                input: &call_input.input,
            };
            let verdict = AssertUnwindSafe(async { guard.check(&call).await }).catch_unwind().await;
            let broken: Box<dyn std::error::Error + Send + Sync> = match verdict {
                Ok(Ok(None)) => continue,
                Ok(Ok(Some(Veto { code, details }))) => {
                    return Err(self.map_failure(entry, std::sync::Arc::new(DynamicFailure::new(&code, details))));
                }
                Ok(Err(GuardBroken(cause))) => cause,
                Err(_) => "the guard panicked".into(),
            };
            match guard.when_broken() {
                WhenBroken::Allow => {
                    tracing::warn!(request_id = %self.ctx.request_id, operation = self.operation(), guard = guard.name(), cause = %self.logged(&*broken), "a guard could not tell, and lets the call pass");
                }
                WhenBroken::Refuse => {
                    tracing::error!(request_id = %self.ctx.request_id, operation = self.operation(), guard = guard.name(), cause = %self.logged(&*broken), "a guard could not tell, and refuses the call");
                    return Err(self.refuse(EngineCode::Internal));
                }
            }
        }
        Ok(())
    }
}
